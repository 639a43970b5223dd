// From a Python object to a view of its memory, by torch's C table (torch_exchange.h), DLPack or the buffer protocol;
// and in what words an object is refused. In a call on one token these exchanges take longer than the rotation
// (docs/performance/python.md).
#include "arrays/arrays.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "arrays/torch_exchange.h"
#include "convert.h"

namespace posenc::python {
namespace {

using Code = nb::dlpack::dtype_code;

// lanes: elements that are small vectors, which no tensor here has.
bool is(const nb::dlpack::dtype& dtype, Code code, int bits) {
  return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits && dtype.lanes == 1;
}

// Of tensors: nothing for integers, for bool, and for complex and 8-bit types.
std::optional<DType> dtype_of(const nb::dlpack::dtype& dtype) {
  if (is(dtype, Code::Float, 32)) return DType::f32;
  if (is(dtype, Code::Float, 16)) return DType::f16;
  if (is(dtype, Code::Bfloat, 16)) return DType::bf16;
  if (is(dtype, Code::Float, 64)) return DType::f64;
  return std::nullopt;
}

// DLPack's `data` may be where an allocation begins, with the tensor byte_offset further on.
std::byte* first_byte(const nb::dlpack::dltensor& shown) {
  return static_cast<std::byte*>(shown.data) + shown.byte_offset;
}

bool has(nb::handle object, const char* attribute) { return PyObject_HasAttrString(object.ptr(), attribute) == 1; }

// For messages: as text a dtype of NumPy is made in Python, which takes microseconds.
std::string dtype_word(nb::handle array) {
  return has(array, "dtype") ? text_of(array.attr("dtype")) : "of another kind";
}

// NumPy's arrays of ml_dtypes.bfloat16, which neither DLPack nor buffers can say, as arrays of their bits.
nb::object bits_of_bfloat16(nb::handle array) {
  if (library_of(array) != Library::numpy || dtype_word(array) != "bfloat16") return {};
  return array.attr("view")("uint16");
}

// What the library itself says against the exchange: "Can't export tensors that require gradient", for one.
// __dlpack__ is called once more for it, since nanobind keeps no reason for a failed exchange.
std::string objection(nb::handle array) {
  if (!has(array, "__dlpack__")) return {};
  const nb::object capsule = nb::steal(PyObject_CallMethod(array.ptr(), "__dlpack__", nullptr));
  if (capsule.is_valid()) return {};
  const nb::python_error error;
  return ": " + text_of(error.value());
}

}  // namespace

bool is_array(nb::handle h) { return has(h, "__dlpack__") || PyObject_CheckBuffer(h.ptr()) != 0; }

namespace {

// False, too, for an attribute that is not there.
bool answers_true(nb::handle object, const char* attribute) {
  const nb::object answer = nb::steal(PyObject_GetAttrString(object.ptr(), attribute));
  if (!answer.is_valid()) PyErr_Clear();
  return answer.ptr() == Py_True;
}

// Arrays of one element pass for whole numbers too.
// They have __index__, but [5] is a list of one position, where 5 says where counting starts.
bool is_whole_number(nb::handle h) {
  return PyLong_Check(h.ptr()) || (PyIndex_Check(h.ptr()) != 0 && !has(h, "__dlpack__"));
}

// What lies in memory are the numbers' negatives, which no exchange says: z.conj().imag.
bool is_negated(nb::handle array) {
  const nb::object answer = nb::steal(PyObject_CallMethod(array.ptr(), "is_neg", nullptr));
  if (!answer.is_valid()) PyErr_Clear();
  return answer.ptr() == Py_True;
}

// Whether the call reads the array or writes it: a read-only array is refused for writing alone.
enum class Use : std::uint8_t { read, write };

// What an array shows of its memory, and what keeps it there.
struct Import {
  nb::dlpack::dltensor shown;
  Lender lender;
  // What it shows are the bits of bfloat16, as uint16.
  bool is_bits = false;  // of bfloat16
};

// Nothing where the exchange fails. Shape and strides lie in the ndarray that the lender keeps.
template <typename NdArray>
std::optional<Import> exchanged(nb::handle array) {
  NdArray memory;
  if (!nb::try_cast(array, memory)) return std::nullopt;
  return Import{{memory.data_handle(),
                 {memory.device_type(), memory.device_id()},
                 static_cast<std::int32_t>(memory.ndim()),
                 memory.dtype(),
                 const_cast<std::int64_t*>(memory.shape_ptr()),
                 const_cast<std::int64_t*>(memory.stride_ptr()),
                 memory.byte_offset()},
                {nb::ndarray<nb::ro>(memory), {}}};
}

std::optional<Import> exchanged(nb::handle array, Use use) {
  // nb::ndarray<> takes writable memory only; of nb::ndarray<nb::ro> the same memory is asked read-only.
  return use == Use::write ? exchanged<nb::ndarray<>>(array) : exchanged<nb::ndarray<nb::ro>>(array);
}

// "cuda:0", as the library says it itself; DLPack has numbers.
std::string device_word(nb::handle array, int dlpack_type) {
  if (has(array, "device")) return text_of(array.attr("device"));
  return "DLPack's device type " + std::to_string(dlpack_type);
}

[[noreturn]] void refuse_device(const std::string& device, const Place& place) {
  const bool is_meta = device == "meta";
  refuse(
      place, "be on the CPU",
      is_meta ? "on meta, which has shapes and no numbers" : "on " + device + ": its library moves it, as .cpu() does");
}

// torch's devices that no exchange shows (meta), and fake tensors, which say that they are on another one.
void refuse_torch_without_numbers(nb::handle array, const Place& place) {
  if (!has(array, "device") || !has(array.attr("device"), "type")) return;
  const std::string device = text_of(array.attr("device").attr("type"));
  if (device != "cpu") refuse_device(text_of(array.attr("device")), place);
  if (std::string_view(nb::type_name(array.type()).c_str()).ends_with("FakeTensor")) {
    refuse(place, "hold numbers: in a graph, call the operators of posenc.torch", "a FakeTensor");
  }
}

// Called when no exchange worked, to find out why: not an array at all (TypeError), read-only, or refused by its
// library.
[[noreturn]] void refuse_array(nb::handle array, Use use, const Place& place) {
  if (!is_array(array)) refuse_type(place, "be an array (with __dlpack__, or a buffer)", array);
  refuse_torch_without_numbers(array, place);  // of a class that somebody made of torch.Tensor
  if (use == Use::write && exchanged(array, Use::read)) {
    refuse(place, "be an array that can be written", "read-only");
  }
  refuse(place, "be an array that can be exchanged", "refused" + objection(array));
}

// torch's own table first, then the exchange, then NumPy's bfloat16, which has neither. What is rare is asked after the
// exchange has failed: a call on one token takes no longer than these questions.
Import import_of_any_device(nb::handle array, Use use, const Place& place) {
  const Library library = library_of(array);
  // Results have no gradient, and torch says nothing against a read by its other functions.
  if (library == Library::torch && answers_true(array, "requires_grad")) {
    refuse_torch_without_numbers(array, place);  // to be detached is no help there
    refuse_gradient(array, place);
  }
  if (library == Library::torch && is_negated(array)) {
    refuse(place, "hold its own numbers (resolve_neg() makes it)", "a view that negates others");
  }
  // Its arrays never change, but do not say so to all that ask.
  if (library == Library::jax && use == Use::write) refuse(place, "be an array that can be written", "JAX's");
  if (library == Library::torch) {
    if (const auto shown = shown_by_torch(array)) return {*shown, {{}, nb::borrow(array)}};
    refuse_torch_without_numbers(array, place);
  }
  if (auto import = exchanged(array, use)) return *std::move(import);
  if (const nb::object bits = bits_of_bfloat16(array); bits.is_valid()) {
    if (auto import = exchanged(bits, use)) {
      import->is_bits = true;
      return *std::move(import);
    }
  }
  refuse_array(array, use, place);
}

Import import_array(nb::handle array, Use use, const Place& place) {
  Import import = import_of_any_device(array, use, place);
  const int device = import.shown.device.device_type;
  if (device != nb::device::cpu::value) refuse_device(device_word(array, device), place);
  return import;
}

// Such arrays have strides of 0 in NumPy.
bool has_no_elements(const nb::dlpack::dltensor& shown) {
  return std::find(shown.shape, shown.shape + shown.ndim, 0) != shown.shape + shown.ndim;
}

// The strides of elements that follow one another, the last axis fastest.
template <typename View>
void set_contiguous(View& view) {
  std::int64_t step = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    view.strides[static_cast<std::size_t>(axis)] = step;
    step *= view.shape[static_cast<std::size_t>(axis)];
  }
}

// ValueError for a scalar, since rank 0 stands for "no tensor" in the library, and for more than four axes.
template <typename View>
View view_of(const nb::dlpack::dltensor& shown, DType dtype, const Place& place) {
  if (shown.ndim < 1 || shown.ndim > kMaxRank) refuse(place, "have rank 1 to 4", std::to_string(shown.ndim));
  View view{.data = first_byte(shown), .dtype = dtype, .rank = shown.ndim};
  std::copy_n(shown.shape, shown.ndim, view.shape.begin());
  std::copy_n(shown.strides, shown.ndim, view.strides.begin());
  if (has_no_elements(shown)) set_contiguous(view);
  return view;
}

// ValueError that names the array's own dtype.
DType require_dtype(const Import& given, nb::handle array, const Place& place) {
  if (given.is_bits) return DType::bf16;
  if (const auto dtype = dtype_of(given.shown.dtype)) return *dtype;
  refuse(place, "be of float32, float16, bfloat16 or float64", dtype_word(array));
}

// 1.0 and 0.0 in binary16, for a mask of bool.
// `mask`: elements of a byte, whatever its dtype member says, of any strides. Missing axes are put in front, of size 1.
// The kernels know no bool; binary16 is as small as a tensor's elements get.
std::vector<std::uint16_t> as_float16(const ConstTensorView& mask) {
  constexpr std::uint16_t kOne = 0x3C00;
  const auto* bytes = static_cast<const std::uint8_t*>(mask.data);
  std::vector<std::uint16_t> numbers;
  std::array<std::int64_t, kMaxRank> shape{1, 1, 1, 1};
  std::array<std::int64_t, kMaxRank> strides{};
  std::copy_n(mask.shape.begin(), mask.rank, shape.end() - mask.rank);
  std::copy_n(mask.strides.begin(), mask.rank, strides.end() - mask.rank);
  numbers.reserve(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (std::int64_t a = 0; a < shape[0]; ++a) {
    for (std::int64_t b = 0; b < shape[1]; ++b) {
      for (std::int64_t c = 0; c < shape[2]; ++c) {
        const std::uint8_t* row = bytes + a * strides[0] + b * strides[1] + c * strides[2];
        for (std::int64_t d = 0; d < shape[3]; ++d) numbers.push_back(row[d * strides[3]] != 0 ? kOne : 0);
      }
    }
  }
  if (numbers.empty()) numbers.push_back(0);  // for an address
  return numbers;
}

// `data` in the shape of `like`, in f16.
ConstTensorView contiguous(const void* data, const ConstTensorView& like) {
  ConstTensorView view{.data = data, .dtype = DType::f16, .rank = like.rank, .shape = like.shape};
  set_contiguous(view);
  return view;
}

// Whether elements follow one another in C order. An axis of one element may have any stride.
bool is_adjacent(const nb::dlpack::dltensor& shown) {
  std::int64_t size = 1;
  for (std::int32_t axis = shown.ndim; axis-- > 0; size *= shown.shape[axis]) {
    if (shown.shape[axis] > 1 && shown.strides[axis] != size) return false;
  }
  return true;
}

std::int64_t element_count(const nb::dlpack::dltensor& shown) {
  std::int64_t count = 1;
  for (std::int32_t axis = 0; axis < shown.ndim; ++axis) count *= shown.shape[axis];
  return count;
}

// The elements of an array of type Seen that is_adjacent.
template <typename Seen>
std::span<const Seen> adjacent(const nb::dlpack::dltensor& shown) {
  if (has_no_elements(shown)) return {};
  return {reinterpret_cast<const Seen*>(first_byte(shown)), static_cast<std::size_t>(element_count(shown))};
}

// The elements of an array of type Seen in C order, whatever its strides: a transposed view, every second, one that is
// broadcast, or read backwards.
template <typename T, typename Seen>
std::vector<T> copied(const nb::dlpack::dltensor& shown) {
  std::vector<T> out;
  if (has_no_elements(shown)) return out;
  out.reserve(static_cast<std::size_t>(element_count(shown)));
  const auto* const first = reinterpret_cast<const Seen*>(first_byte(shown));
  std::int64_t at = 0;
  const auto axes = static_cast<std::size_t>(shown.ndim);
  std::vector<std::int64_t> index(axes, 0);
  for (std::size_t axis = 0; axis <= axes;) {  // from the last
    out.push_back(static_cast<T>(first[at]));
    for (axis = 1; axis <= axes; ++axis) {
      const std::size_t one = axes - axis;
      at += shown.strides[one];
      if (++index[one] < shown.shape[one]) break;
      at -= shown.strides[one] * shown.shape[one];
      index[one] = 0;
    }
  }
  return out;
}

// The numbers of an array of one of these types, each of which T has; none where it is of another.
template <typename T, typename... Narrow>
std::optional<std::vector<T>> widened(const nb::dlpack::dltensor& shown) {
  std::optional<std::vector<T>> wide;
  ((shown.dtype == nb::dtype<Narrow>() && (wide.emplace(copied<T, Narrow>(shown)), true)) || ...);
  return wide;
}

// Coordinates of several axes come as an array [axes, rows]; nested lists would say nothing about their order.
bool is_list_of_lists(const nb::list& positions) {
  return std::any_of(positions.begin(), positions.end(),
                     [](nb::handle of) { return nb::isinstance<nb::list>(of) || nb::isinstance<nb::tuple>(of); });
}

}  // namespace

// By the name of the class's module, so that no library is imported to ask.
Library library_of(nb::handle array) {
  const nb::object module = array.type().attr("__module__");
  Py_ssize_t size = 0;
  const char* word = PyUnicode_AsUTF8AndSize(module.ptr(), &size);
  if (word == nullptr) {
    PyErr_Clear();
    return Library::other;
  }
  const std::string_view package = std::string_view(word, static_cast<std::size_t>(size));
  const std::string_view root = package.substr(0, package.find('.'));
  if (root == "numpy") return Library::numpy;
  if (root == "torch") return Library::torch;
  return root == "jax" || root == "jaxlib" ? Library::jax : Library::other;
}

ConstArray::ConstArray(nb::handle array, const Place& place, Bools bools) {
  if (array.is_none()) return;
  Import given = import_array(array, Use::read, place);
  // A copy, since no kernel reads bool; the lender may go.
  if (bools == Bools::taken && is(given.shown.dtype, Code::Bool, 8)) {
    const auto mask = view_of<ConstTensorView>(given.shown, DType::f32, place);
    mask_ = as_float16(mask);
    is_of_bool_ = true;
    view_ = contiguous(mask_.data(), mask);
    return;
  }
  view_ = view_of<ConstTensorView>(given.shown, require_dtype(given, array, place), place);
  lender_ = std::move(given.lender);
}

nb::handle given(nb::handle array, const Place& place) {
  if (array.is_none()) refuse_type(place, "be an array", array);
  return array;
}

Array::Array(nb::handle array, const Place& place) {
  if (array.is_none()) return;
  Import given = import_array(array, Use::write, place);
  view_ = view_of<TensorView>(given.shown, require_dtype(given, array, place), place);
  lender_ = std::move(given.lender);
}

// What no exchange shows, ml_dtypes' float8 for one, its library shows as other bytes.
Bytes::Bytes(nb::handle array, const Place& place, bool is_written) {
  const Library library = library_of(array);
  nb::object bytes = nb::borrow(array);
  if ((library == Library::numpy || library == Library::torch) &&
      dtype_word(array).find("float8") != std::string::npos) {
    bytes = library == Library::numpy ? array.attr("view")("uint8") : array.attr("view")(loaded("torch").attr("uint8"));
  }
  Import given = import_array(bytes, is_written ? Use::write : Use::read, place);
  const bool is_bool = given.shown.dtype.code == static_cast<std::uint8_t>(Code::Bool);
  if (given.shown.dtype.bits != 8 || given.shown.dtype.lanes != 1 || is_bool) {
    refuse(place, "have elements of 8 bits: uint8, int8 or float8", dtype_word(array));
  }
  view_ = view_of<TensorView>(given.shown, DType::f32, place);
  lender_ = std::move(given.lender);
}

// A list is converted number by number.
template <typename T>
Numbers<T>::Numbers(nb::handle numbers, const Place& place) {
  if (numbers.is_none()) return;
  if (is_array(numbers)) {
    Import given = import_array(numbers, Use::read, place);
    *this = Numbers(given.shown, std::move(given.lender), numbers, place);
    return;
  }
  own_ = Convert<std::vector<T>>::from_python(numbers, place);
  span_ = own_;
}

// An array must be of exactly T (int32 for cu_seqlens, int64 for slots); of another type it is refused, not copied.
// PositionsArgument, which converts some, looks at the dtype before it chooses T.
template <typename T>
Numbers<T>::Numbers(const nb::dlpack::dltensor& shown, Lender lender, nb::handle numbers, const Place& place)
    : lender_(std::move(lender)) {
  if (shown.dtype != nb::dtype<T>()) {
    constexpr const char* kWord = std::is_same_v<T, double> ? "float64" : sizeof(T) == 8 ? "int64" : "int32";
    refuse(place, std::string("be of ") + kWord, dtype_word(numbers));
  }
  if (is_adjacent(shown)) {
    span_ = adjacent<T>(shown);
  } else {
    own_ = copied<T, T>(shown);
    span_ = own_;
  }
}

template <typename T>
Numbers<T>::Numbers(std::vector<T> numbers) : own_(std::move(numbers)), span_(own_) {}

template class Numbers<std::int32_t>;
template class Numbers<std::int64_t>;
template class Numbers<double>;

template <typename T, typename... Seen>
void PositionsArgument::take(Seen&&... seen) {
  positions_ = numbers_.emplace<Numbers<T>>(std::forward<Seen>(seen)...).span();
}

PositionsArgument::PositionsArgument(nb::handle positions, const Place& place) {
  if (is_whole_number(positions)) {
    positions_ = PositionRange{Convert<std::int64_t>::from_python(positions, place)};
  } else if (is_array(positions)) {
    Import given = import_array(positions, Use::read, place);
    if (given.shown.dtype == nb::dtype<std::int64_t>()) {
      take<std::int64_t>(given.shown, std::move(given.lender), positions, place);
    } else if (given.shown.dtype == nb::dtype<std::int32_t>()) {
      take<std::int32_t>(given.shown, std::move(given.lender), positions, place);
    } else if (given.shown.dtype == nb::dtype<double>()) {
      take<double>(given.shown, std::move(given.lender), positions, place);
      // Narrower types are widened, which is exact. uint64 is not among them: int64 does not hold all of it.
    } else if (auto whole =
                   widened<std::int64_t, std::int8_t, std::int16_t, std::uint8_t, std::uint16_t, std::uint32_t>(
                       given.shown)) {
      take<std::int64_t>(*std::move(whole));
    } else if (auto real = widened<double, float>(given.shown)) {
      take<double>(*std::move(real));
    } else {
      refuse(place, "be of whole numbers (not uint64), float32 or float64", dtype_word(positions));
    }
  } else if (nb::isinstance<nb::iterable>(positions)) {
    const nb::list once(nb::borrow(positions));  // it may be a generator
    if (is_list_of_lists(once)) refuse_type(place, "be one list of numbers, or an array", positions);
    // One number that is not whole makes all of them real coordinates.
    const bool are_whole =
        std::all_of(once.begin(), once.end(), [](nb::handle of) { return PyIndex_Check(of.ptr()) != 0; });
    are_whole ? take<std::int64_t>(once, place) : take<double>(once, place);
  } else {
    refuse_type(place, "be a whole number, an array or a list", positions);
  }
}

}  // namespace posenc::python
