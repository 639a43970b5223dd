// posenc.Quantised, a quantised KV cache as arrays, and what reads one back.
#include <string>

#include "convert.h"
#include "describe/words.h"
#include "module.h"
#include "quantised.h"
#include "signature.h"

namespace posenc::python {
namespace {

// Channels of a row of so many bytes: ValueError where rows are no whole units.
std::int64_t channels_of(CacheFormat format, std::int64_t bytes, const Place& place) {
  constexpr std::int64_t kUnit = 32;  // every format has whole bytes for so many
  const std::int64_t of_unit = cache_row_bytes(format, kUnit);
  const bool is_block = format == CacheFormat::q8_0 || format == CacheFormat::q4_0 || format == CacheFormat::q5_1;
  if (is_block && bytes % of_unit != 0) {
    refuse(place, "have rows of whole blocks, " + std::to_string(of_unit) + " bytes each,", std::to_string(bytes));
  }
  return is_block ? bytes / of_unit * kUnit : bytes * (kUnit / of_unit);
}

// Also of each use, as arrays can be given another shape in place.
void check_codes(CacheFormat format, const TensorView& codes, const Place& place) {
  if (codes.rank != 3 && codes.rank != 4) {
    refuse(place, "have 3 axes, [rows, heads, bytes of a head], or 4", "an array of " + std::to_string(codes.rank));
  }
  channels_of(format, codes.shape[static_cast<std::size_t>(codes.rank - 1)], place);
}

// float8 codes are what they say.
void check_dtype(CacheFormat format, nb::handle codes, const Place& place) {
  if (!nb::hasattr(codes, "dtype")) return;
  const std::string word = text_of(codes.attr("dtype"));
  if (word.find("float8") == std::string::npos) return;
  const bool is_e4m3 = word.ends_with("float8_e4m3fn") && format == CacheFormat::fp8_e4m3;
  const bool is_e5m2 = word.ends_with("float8_e5m2") && format == CacheFormat::fp8_e5m2;
  if (!is_e4m3 && !is_e5m2) refuse(place, "be codes of " + std::string(name(format)), word);
}

Quantised make(nb::handle format, nb::handle codes, nb::handle scales, nb::handle zeros, double scale,
               nb::handle group) {
  const char* where = "Quantised";
  Quantised out{.format = Convert<CacheFormat>::from_python(format, {where, "format"}),
                .codes = nb::borrow(given(codes, {where, "codes"})),
                .scales = nb::borrow(scales),
                .zeros = nb::borrow(zeros),
                .scale = static_cast<float>(scale),
                .group = Convert<std::int64_t>::from_python(group, {where, "group"})};
  check_dtype(out.format, codes, {where, "codes"});
  check_codes(out.format, Bytes(out.codes, {where, "codes"}, false).view(), {where, "codes"});
  return out;
}

nb::tuple shape_of_numbers(const Quantised& x) {
  const Bytes codes(x.codes, {"Quantised", "codes"}, false);
  check_codes(x.format, codes.view(), {"Quantised", "codes"});
  nb::list out;
  for (int axis = 0; axis < codes.view().rank; ++axis) {
    const std::int64_t size = codes.view().shape[static_cast<std::size_t>(axis)];
    out.append(axis + 1 < codes.view().rank ? size : channels_of(x.format, size, {"Quantised", "codes"}));
  }
  return nb::tuple(out);
}

nb::object dequantise_call(nb::handle x, bool paged) {
  const char* where = "dequantise";
  if (!is_quantised(x)) refuse_type({where, "x"}, "be a Quantised", x);
  const QuantisedArgument codes(x, {where, "x"}, false);
  const QuantisedView& view = codes.view();
  NewArray out = new_array(nb::inst_ptr<Quantised>(x)->codes, DType::f32,
                           std::span(view.shape).first(static_cast<std::size_t>(view.rank)));
  {
    const nb::gil_scoped_release released;
    dequantise(out.view, view, paged);
  }
  return out.object;
}

}  // namespace

bool is_quantised(nb::handle h) { return nb::isinstance<Quantised>(h); }

QuantisedArgument::QuantisedArgument(nb::handle quantised, const Place& place, bool is_written) {
  const Quantised& x = *nb::inst_ptr<Quantised>(quantised);
  const std::string own = std::string(place.field) + ".";
  const std::string codes_name = own + "codes";
  const std::string scales_name = own + "scales";
  const std::string zeros_name = own + "zeros";
  codes_ = Bytes(x.codes, {place.where, codes_name}, is_written);
  const TensorView& codes = codes_.view();
  check_codes(x.format, codes, {place.where, codes_name});
  const auto last = static_cast<std::size_t>(codes.rank - 1);
  if (codes.shape[last] > 1 && codes.strides[last] != 1) {
    refuse({place.where, codes_name}, "have adjacent bytes in a row", "strided");
  }
  view_ = {.format = x.format, .data = codes.data, .rank = codes.rank, .shape = codes.shape, .strides = codes.strides};
  view_.shape[last] = channels_of(x.format, codes.shape[last], {place.where, codes_name});
  view_.scale = x.scale;
  view_.group = x.group;
  const auto take = [&](nb::handle array, const std::string& name, ConstArray& read, Array& written) -> TensorView {
    if (is_written) {
      written = Array(array, {place.where, name});
      return written.view();
    }
    read = ConstArray(array, {place.where, name});
    const ConstTensorView& view = read.view();
    return {const_cast<void*>(view.data), view.dtype, view.rank, view.shape, view.strides};
  };
  view_.scales = take(x.scales, scales_name, read_scales_, written_scales_);
  view_.zeros = take(x.zeros, zeros_name, read_zeros_, written_zeros_);
}

void bind_quantised(nb::module_& m) {
  const std::string init = "def __init__(self, format: " + Convert<CacheFormat>::type() +
                           ", codes: ArrayLike, *, scales: ArrayLike | None = None, zeros: ArrayLike | None = None, "
                           "scale: float = 1.0, group: int = 0) -> None";
  nb::class_<Quantised>(
      m, "Quantised", nb::is_final(),
      "A quantised KV cache: codes, and what makes numbers of them, scale * code + zero.\n\n"
      "codes: 8-bit elements (uint8, int8, float8), [rows, heads, bytes of a head], [batch, heads, tokens, bytes] or "
      "paged [blocks, block_size, heads, bytes]; cache_row_bytes says how many bytes. scales, zeros: float32, of that "
      "shape without its last axis; of 'int4_by_channel' float32 or float16, with groups of `group` tokens instead of "
      "tokens, and channels. ggml's blocks have none; fp8 may have one `scale` instead. The arrays are those given: "
      "rotate_into_cache writes them, attend reads them.")
      .def(
          "__init__",
          [](Quantised* self, nb::handle format, nb::handle codes, nb::handle scales, nb::handle zeros, double scale,
             nb::handle group) { new (self) Quantised(make(format, codes, scales, zeros, scale, group)); },
          nb::arg("format"), nb::arg("codes"), nb::kw_only(), nb::arg("scales") = nb::none(),
          nb::arg("zeros") = nb::none(), nb::arg("scale") = 1.0, nb::arg("group") = 0,
          nb::sig(with_array_types(init).c_str()))
      .def_prop_ro(
          "format", [](const Quantised& self) { return Convert<CacheFormat>::to_python(self.format, {}); },
          nb::for_getter(nb::sig(("def format(self) -> " + Convert<CacheFormat>::type()).c_str())))
      .def_prop_ro(
          "codes", [](const Quantised& self) { return self.codes; },
          nb::for_getter(nb::sig("def codes(self) -> typing.Any")), "As they were given.")
      .def_prop_ro(
          "scales", [](const Quantised& self) { return self.scales; },
          nb::for_getter(nb::sig("def scales(self) -> typing.Any")), "As they were given.")
      .def_prop_ro(
          "zeros", [](const Quantised& self) { return self.zeros; },
          nb::for_getter(nb::sig("def zeros(self) -> typing.Any")), "As they were given.")
      .def_prop_ro("scale", [](const Quantised& self) { return static_cast<double>(self.scale); })
      .def_prop_ro("group", [](const Quantised& self) { return self.group; })
      .def_prop_ro("shape", &shape_of_numbers, nb::for_getter(nb::sig("def shape(self) -> tuple[int, ...]")),
                   "Of the numbers: that of the codes, with channels instead of bytes.");
  m.def(
      "cache_row_bytes",
      [](nb::handle format, std::int64_t channels) {
        return cache_row_bytes(Convert<CacheFormat>::from_python(format, {"cache_row_bytes", "format"}), channels);
      },
      nb::arg("format"), nb::arg("channels"),
      nb::sig(("def cache_row_bytes(format: " + Convert<CacheFormat>::type() + ", channels: int) -> int").c_str()),
      "Bytes of the codes of one head's row in a quantised cache. ValueError for channels that the format does not "
      "take.");
  m.def("dequantise", &dequantise_call, nb::arg("x"), nb::kw_only(), nb::arg("paged") = false,
        nb::sig("def dequantise(x: Quantised, *, paged: bool = False) -> typing.Any"),
        "The numbers of a quantised cache, float32, of its codes' library: [tokens, heads, channels], [batch, heads, "
        "tokens, channels] or, with paged, [pages, tokens, heads, channels], as its codes are. ValueError for arrays "
        "that do not fit each other.");
}

}  // namespace posenc::python
