// vectors.rs: a constant for each tensor, and its bounds.
#include "base/formatted.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::string_view kRustHead = R"(//! Golden vectors: @title@.
//! Made by posenc vectors. Results are those of a float64 reference; docs/vectors.md of posenc says how they are held.
//!
@facts@
/// |port - expected| <= absolute[token] + relative * |expected|; of scores the token is the query's. A hidden score is
/// -infinity.
pub struct Bound {
    pub dtype: &'static str,
    pub relative: f64,
    pub absolute: &'static [f64],
}

pub struct Tensor {
    pub name: &'static str,
    pub shape: &'static [usize],
    pub values: &'static [f64],
    /// float32, bfloat16, float16; none of inputs.
    pub bounds: &'static [Bound],
}

pub const TOKENS: usize = @tokens@;
pub const HEADS: usize = @heads@;
pub const KV_HEADS: usize = @kv_heads@;
pub const HEAD_DIM: usize = @head_dim@;
pub const VALUE_DIM: usize = @value_dim@;
pub const SOFTMAX_SCALE: f64 = @scale@;
)";

std::string rust_name(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  // An identifier does not begin with a digit.
  return !text.empty() && text.front() >= '0' && text.front() <= '9' ? "TERM_" + text : text;
}

std::string rust_bounds(const Vectors& vectors, const std::string& tensor) {
  std::string out;
  for (const VectorBounds& of_dtype : vectors.bounds) {
    for (const VectorBound& bound : of_dtype.bounds) {
      if (bound.tensor != tensor) continue;
      out += formatted(
          "        Bound {{\n            dtype: \"{}\",\n            relative: {},\n"
          "            absolute: &[\n{}            ],\n        }},\n",
          dtype_word(of_dtype.dtype), number_text(bound.relative, ""),
          number_rows(bound.absolute, false, "f64::NEG_INFINITY"));
    }
  }
  return out.empty() ? "&[]" : formatted("&[\n{}    ]", out);
}

}  // namespace

VectorFile rust_file(const Vectors& vectors) {
  std::string out = filled(kRustHead, {{"title", title(vectors)},
                                       {"facts", fact_lines(vectors, "//! ")},
                                       {"tokens", formatted("{}", vectors.options.tokens.value_or(0))},
                                       {"heads", formatted("{}", vectors.layer.heads)},
                                       {"kv_heads", formatted("{}", vectors.layer.kv_heads)},
                                       {"head_dim", formatted("{}", vectors.layer.head_dim)},
                                       {"value_dim", formatted("{}", vectors.layer.value_dim)},
                                       {"scale", number_text(vectors.layer.softmax_scale, "")}});
  std::string all;
  for (const VectorTensor& tensor : vectors.tensors) {
    const std::string called = rust_name(identifier(tensor.name));
    out += formatted(
        "\n/// {}\npub static {}: Tensor = Tensor {{\n    name: \"{}\",\n    shape: &[{}],\n"
        "    values: &[\n{}    ],\n    bounds: {},\n}};\n",
        tensor.axes, called, tensor.name, joined(tensor.shape, ", "),
        number_rows(tensor.values, false, "f64::NEG_INFINITY"), rust_bounds(vectors, tensor.name));
    all += formatted("    &{},\n", called);
  }
  out += formatted(
      "\npub static ALL: &[&Tensor] = &[\n{}];\n\n"
      "pub fn find(name: &str) -> Option<&'static Tensor> {{\n"
      "    ALL.iter().copied().find(|tensor| tensor.name == name)\n}}\n",
      all);
  return {"vectors.rs", std::move(out)};
}

}  // namespace posenc::inline v0_2::golden
