// posenc.TensorData: a tensor that was read from a file, for NumPy, torch and whatever else takes DLPack. Its elements
// are in memory of its own, or in the file's mapping or the caller's bytes, which keep_alive in bind_tensor_file.cpp
// keeps as long as the TensorData. posenc's own functions take it as any other array.
#include "arrays/tensor_data.h"

#include <nanobind/ndarray.h>

#include <optional>

#include "describe/describe_tensor_file.h"

namespace posenc::python {
namespace {

using DataCode = nb::dlpack::dtype_code;

// The type as DLPack writes it; nothing for what no array library could import.
std::optional<DataCode> code_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::f32:
    case ElementType::f16: return DataCode::Float;
    case ElementType::bf16: return DataCode::Bfloat;
    case ElementType::i64:
    case ElementType::i32:
    case ElementType::i16:
    case ElementType::i8: return DataCode::Int;
    case ElementType::u64:
    case ElementType::u32:
    case ElementType::u16:
    case ElementType::u8: return DataCode::UInt;
    case ElementType::boolean: return DataCode::Bool;
    case ElementType::complex64:
    case ElementType::complex128: return DataCode::Complex;
    case ElementType::f8_e4m3: return DataCode::Float8_E4M3FN;
    case ElementType::f8_e5m2: return DataCode::Float8_E5M2;
    case ElementType::f8_e4m3fnuz: return DataCode::Float8_E4M3FNUZ;
    case ElementType::f8_e5m2fnuz: return DataCode::Float8_E5M2FNUZ;
    case ElementType::f8_e8m0: return DataCode::Float8_E8M0FNU;
    case ElementType::f6_e2m3:
    case ElementType::f6_e3m2:
    case ElementType::f4:  // elements that do not begin with a byte
    case ElementType::other: return std::nullopt;
  }
  return std::nullopt;
}

// NumPy has no such types; ml_dtypes has.
// bfloat16 and the 8-bit floats go to NumPy as unsigned integers, and are viewed there; null: NumPy has the type.
const char* ml_dtype_of(ElementType type) {
  switch (type) {
    case ElementType::bf16: return "bfloat16";
    case ElementType::f8_e4m3: return "float8_e4m3fn";
    case ElementType::f8_e5m2: return "float8_e5m2";
    case ElementType::f8_e4m3fnuz: return "float8_e4m3fnuz";
    case ElementType::f8_e5m2fnuz: return "float8_e5m2fnuz";
    case ElementType::f8_e8m0: return "float8_e8m0fnu";
    default: return nullptr;
  }
}

// The elements where they lie, for as long as `self` lives.
// NdArray: writable, or nb::ro.
template <typename NdArray>
nb::object exported(nb::handle self, DataCode code) {
  const TensorData& data = *nb::inst_ptr<TensorData>(self);
  const std::vector<std::size_t> shape(data.shape().begin(), data.shape().end());
  const std::vector<std::int64_t> strides(data.strides().begin(), data.strides().end());
  const nb::dlpack::dtype dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits_of(data.type())), 1};
  auto* bytes = const_cast<std::byte*>(data.bytes().data());  // written only where NdArray may be
  return nb::cast(NdArray(bytes, shape.size(), shape.data(), self, strides.data(), dtype), nb::rv_policy::reference);
}

// What is not owned lies in the file's mapping, or in the caller's bytes: it is read-only.
nb::object exchanged(nb::handle self, DataCode code) {
  if (nb::inst_ptr<TensorData>(self)->owned()) return exported<nb::ndarray<nb::array_api>>(self, code);
  return exported<nb::ndarray<nb::array_api, nb::ro>>(self, code);
}

// TypeError for quantised blocks of GGUF, and for elements that do not begin with a byte.
DataCode require_code(nb::handle self) {
  const ElementType type = nb::inst_ptr<TensorData>(self)->type();
  if (const auto code = code_of(type)) return *code;
  throw nb::type_error(("arrays of " + std::string(name(type)) + " cannot be exchanged: take .bytes").c_str());
}

// `how`: what the protocol's caller asks for (max_version, copy, dl_device), answered by nanobind's array.
nb::object dlpack(nb::handle self, const nb::kwargs& how) {
  return exchanged(self, require_code(self)).attr("__dlpack__")(**how);
}

// NumPy's __array__(dtype, copy); copy=False is a ValueError where there must be one, as of NumPy 2. NumPy, which calls
// this, has been imported.
nb::object as_numpy(nb::handle self, nb::handle dtype, nb::handle copy) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const ElementType type = nb::inst_ptr<TensorData>(self)->type();
  const char* word = ml_dtype_of(type);
  const DataCode code = word == nullptr ? require_code(self) : DataCode::UInt;
  nb::object array = numpy.attr("from_dlpack")(exchanged(self, code));
  if (word != nullptr) array = array.attr("view")(nb::module_::import_("ml_dtypes").attr(word));
  const bool is_other = !dtype.is_none() && !numpy.attr("dtype")(dtype).equal(array.attr("dtype"));
  if (is_other && copy.ptr() == Py_False) {
    refuse({"TensorData", "copy"}, "be None or True for another dtype than its own", "False");
  }
  if (is_other) return array.attr("astype")(dtype);
  return copy.ptr() == Py_True ? array.attr("copy")() : array;
}

nb::object bytes_of(nb::handle self) {
  const std::span<const std::byte> bytes = nb::inst_ptr<TensorData>(self)->bytes();
  const nb::ndarray<const std::uint8_t, nb::memview, nb::device::cpu> view(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), {bytes.size()}, self);
  return nb::cast(view, nb::rv_policy::reference);
}

nb::object tuple_of(std::span<const std::int64_t> numbers) {
  return Convert<std::vector<std::int64_t>>::to_python({numbers.begin(), numbers.end()}, {});
}

}  // namespace

void bind_tensor_data(nb::module_& m) {
  nb::class_<TensorData>(m, "TensorData", nb::is_final(),
                         "A tensor's elements: numpy.asarray(data), torch.from_dlpack(data), and whatever else takes "
                         "DLPack, see them where they lie. Of a file that is mapped they are read-only.")
      .def_prop_ro(
          "type",
          [](nb::handle self) { return Convert<ElementType>::to_python(nb::inst_ptr<TensorData>(self)->type(), {}); },
          nb::for_getter(nb::sig(("def type(self) -> " + Convert<ElementType>::type()).c_str())))
      .def_prop_ro(
          "shape", [](nb::handle self) { return tuple_of(nb::inst_ptr<TensorData>(self)->shape()); },
          nb::for_getter(nb::sig("def shape(self) -> tuple[int, ...]")))
      .def_prop_ro(
          "strides", [](nb::handle self) { return tuple_of(nb::inst_ptr<TensorData>(self)->strides()); },
          nb::for_getter(nb::sig("def strides(self) -> tuple[int, ...]")), "In elements.")
      .def_prop_ro("bytes", &bytes_of, nb::for_getter(nb::sig("def bytes(self) -> memoryview")),
                   "Of uint8, read-only, in the machine's byte order.")
      .def_prop_ro("owned", &TensorData::owned, "False: the bytes are the file's mapping, or the caller's own.")
      .def("__dlpack__", &dlpack, nb::arg("how"), nb::sig("def __dlpack__(self, **how: typing.Any) -> typing.Any"),
           "TypeError for elements of less than a byte.")
      .def(
          "__dlpack_device__", [](nb::handle) { return nb::make_tuple(static_cast<int>(nb::device::cpu::value), 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("__array__", &as_numpy, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> typing.Any"),
           "For NumPy; bfloat16 and the types of 8 bits by ml_dtypes.")
      .def("__repr__", [](nb::handle self) {
        const TensorData& data = *nb::inst_ptr<TensorData>(self);
        return "<TensorData of " + std::string(name(data.type())) + ", shape " + text_of(tuple_of(data.shape())) + ">";
      });
}

}  // namespace posenc::python
