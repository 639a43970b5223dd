// New arrays for results, in the library that the caller's arrays are of. NumPy's and torch's are made by their own
// empty(), so that their allocators own them; others get memory of ours, by DLPack or as a memoryview. None is cleared:
// the call writes every element.
#include <sys/mman.h>  // madvise: Linux

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "arrays/arrays.h"
#include "arrays/torch_exchange.h"

namespace posenc::python {
namespace {

// The dtype's attribute in numpy and torch; that of bfloat16 in ml_dtypes, as NumPy has none.
const char* word(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float32";
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::f64: return "float64";
  }
  return "";
}

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  const auto code = dtype == DType::bf16 ? nb::dlpack::dtype_code::Bfloat : nb::dlpack::dtype_code::Float;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * bytes_of(dtype)), 1};
}

nb::tuple python_shape(std::span<const std::int64_t> shape) {
  nb::list sizes;
  for (const std::int64_t size : shape) sizes.append(size);
  return nb::tuple(sizes);
}

// Asks for huge pages in new memory, as NumPy does for its own and torch does not: an array of this size is memory that
// the system has not given yet, and to get it by pages of 4 KiB takes several times as long as to rotate what goes
// there.
void ask_for_huge_pages(void* data, std::size_t bytes) {
  constexpr std::size_t kHuge = std::size_t{2} << 20U;
  if (bytes < 2 * kHuge) return;  // a whole one lies within, wherever it begins
  const auto begin = (reinterpret_cast<std::size_t>(data) + kHuge - 1) / kHuge * kHuge;
  const auto end = (reinterpret_cast<std::size_t>(data) + bytes) / kHuge * kHuge;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a system without them refuses, and no harm
}

std::size_t bytes_in(DType dtype, std::span<const std::int64_t> shape) {
  auto bytes = static_cast<std::size_t>(bytes_of(dtype));
  for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

// NumPy has no bfloat16 of its own; the caller's arrays are of ml_dtypes' then, so it is loaded.
NewArray new_numpy(DType dtype, std::span<const std::int64_t> shape) {
  const nb::object of = loaded(dtype == DType::bf16 ? "ml_dtypes" : "numpy").attr(word(dtype));
  nb::object made = loaded("numpy").attr("empty")(python_shape(shape), of);
  const Array array(made, {"new_array", "numpy"});
  return {std::move(made), array.view()};
}

// data_ptr() is for a torch that is too old for the table.
void* address_of(nb::handle tensor) {
  if (const auto shown = shown_by_torch(tensor)) return shown->data;
  return PyLong_AsVoidPtr(nb::object(tensor.attr("data_ptr")()).ptr());
}

// Like x in dtype, shape and strides, which are dense.
// torch.empty_like keeps the strides of a dense tensor, so those of x hold for the new one.
NewArray new_torch_like(nb::handle like, const ConstTensorView& x) {
  nb::object made = loaded("torch").attr("empty_like")(like);
  void* data = address_of(made);
  ask_for_huge_pages(data, bytes_in(x.dtype, std::span(x.shape).first(static_cast<std::size_t>(x.rank))));
  return {std::move(made), {.data = data, .dtype = x.dtype, .rank = x.rank, .shape = x.shape, .strides = x.strides}};
}

NewArray new_torch(DType dtype, std::span<const std::int64_t> shape) {
  const nb::object torch = loaded("torch");
  using namespace nb::literals;
  nb::object made = torch.attr("empty")(python_shape(shape), "dtype"_a = torch.attr(word(dtype)));
  void* data = address_of(made);
  ask_for_huge_pages(data, bytes_in(dtype, shape));
  return {std::move(made), tensor(data, dtype, shape)};
}

// ---- axes in the order of another array's memory ----

using Axes = std::vector<std::size_t>;

// Axes of more than one element from the slowest to the fastest; as they are numbered where that is no order that an
// array could have: an axis that is repeated without being stored, channels that are not adjacent.
Axes memory_order(const ConstTensorView& x) {
  Axes order;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(x.rank); ++axis) {
    if (x.shape[axis] > 1) order.push_back(axis);
  }
  Axes sorted = order;
  const auto step = [&](std::size_t axis) { return std::abs(x.strides[axis]); };
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) { return step(a) > step(b); });
  const bool is_order = !sorted.empty() && sorted.back() == order.back() && step(sorted.back()) > 0;
  return is_order ? sorted : order;
}

// Whether elements fill their memory without a gap when axes are taken in this order.
bool is_dense(const ConstTensorView& x, const Axes& order) {
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0; step *= x.shape[order[i]]) {
    if (x.strides[order[i]] != step) return false;
  }
  return true;
}

// Of axes in memory's order, seen in the order that they are numbered in.
// `made` has its axes in memory's order; the result, and its view, have them as the caller numbers them.
NewArray seen_in_order(const NewArray& made, const Axes& in_memory, const char* transpose) {
  nb::list at;  // where in memory's order each axis is
  NewArray seen{{}, made.view};
  for (std::size_t axis = 0; axis < in_memory.size(); ++axis) {
    const auto place =
        static_cast<std::size_t>(std::find(in_memory.begin(), in_memory.end(), axis) - in_memory.begin());
    at.append(place);
    seen.view.shape[axis] = made.view.shape[place];
    seen.view.strides[axis] = made.view.strides[place];
  }
  seen.object = made.object.attr(transpose)(nb::tuple(at));
  return seen;
}

// JAX takes memory that lies so as it is, and copies other (jaxlib 0.10, on the CPU).
constexpr std::align_val_t kAlignment{64};

// Memory of our own, which lives as long as anybody looks at it.
// `owner` is a capsule that frees `data`; arrays that are made over it refer to it.
struct OwnArray {
  nb::object owner;
  void* data;
  std::vector<std::size_t> shape;
  DType dtype;
};

OwnArray own_array(DType dtype, std::span<const std::int64_t> shape) {
  const std::size_t bytes = bytes_in(dtype, shape);
  const auto free = [](void* data) noexcept { operator delete(data, kAlignment); };
  std::unique_ptr<void, decltype(free)> memory(operator new(bytes, kAlignment), free);
  ask_for_huge_pages(memory.get(), bytes);
  nb::object owner = nb::capsule(memory.get(), free);
  return {std::move(owner), memory.release(), {shape.begin(), shape.end()}, dtype};
}

template <typename Framework>
nb::object exported(const OwnArray& own) {
  const nb::ndarray<Framework> array(own.data, own.shape.size(), own.shape.data(), own.owner, nullptr,
                                     dlpack_dtype(own.dtype));
  return nb::cast(array, nb::rv_policy::reference);
}

// `made` of `own`, which is written only now: a copy would have what lay there before.
// ValueError where the library copied on import: it would return what the memory held, not what the call writes.
nb::object not_copied(nb::object made, const OwnArray& own) {
  if (own.shape.empty() || ConstArray(made, {"new_array", "array"}).view().data == own.data) return made;
  refuse({"new_array", "the array's library"}, "take memory as it is", "one that copies");
}

}  // namespace

nb::object loaded(const char* name) {
  // Borrowed: sys.modules keeps it.
  const nb::handle module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
  return module.is_valid() ? nb::borrow(module) : nb::object(nb::module_::import_(name));
}

// torch and NumPy first, as nearly all calls are theirs. Other array libraries are asked through the array API's
// standard, whose from_dlpack can take memory without a copy.
NewArray new_array(nb::handle like, DType dtype, std::span<const std::int64_t> shape) {
  const Library library = library_of(like);
  if (library == Library::torch) return new_torch(dtype, shape);
  if (library == Library::numpy) return new_numpy(dtype, shape);
  const OwnArray own = own_array(dtype, shape);
  const TensorView view = tensor(own.data, dtype, shape);
  if (library == Library::jax) return {not_copied(exported<nb::jax>(own), own), view};
  if (PyObject_HasAttrString(like.ptr(), "__array_namespace__") == 1) {
    const nb::object space = like.attr("__array_namespace__")();
    return {not_copied(space.attr("from_dlpack")(exported<nb::array_api>(own)), own), view};
  }
  return {exported<nb::memview>(own), view};
}

NewArray new_array(nb::handle like, DType dtype, std::initializer_list<std::int64_t> shape) {
  return new_array(like, dtype, std::span(shape.begin(), shape.size()));
}

NewArray new_array_like(nb::handle like, const ConstTensorView& x) {
  const auto shape = std::span(x.shape).first(static_cast<std::size_t>(x.rank));
  const Library library = library_of(like);
  if (library != Library::torch && library != Library::numpy) return new_array(like, x.dtype, shape);
  Axes order = memory_order(x);
  if (library == Library::torch && is_dense(x, order)) return new_torch_like(like, x);
  // The last axis fastest, which is how empty() makes it.
  if (std::is_sorted(order.begin(), order.end())) return new_array(like, x.dtype, shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {  // axes of one element may lie anywhere
    if (shape[axis] <= 1) order.insert(order.begin(), axis);
  }
  std::vector<std::int64_t> sizes;
  for (const std::size_t axis : order) sizes.push_back(shape[axis]);
  const NewArray made = new_array(like, x.dtype, std::span<const std::int64_t>(sizes));
  return seen_in_order(made, order, library == Library::torch ? "permute" : "transpose");
}

}  // namespace posenc::python
