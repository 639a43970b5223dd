// vectors.h and vectors.c: an array for each tensor, and its bounds. They compile as C99 and as C++.
#include <algorithm>

#include "base/formatted.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::string_view kCHead = R"(/* Golden vectors: @title@.
 * Made by posenc vectors. Results are those of a float64 reference; docs/vectors.md of posenc says how they are held.
 *
@facts@ *
 * |port - expected| <= absolute[token] + relative * |expected|, with the bound of the dtype that the port computes in:
 * vectors_bound_out[VECTORS_FLOAT32][0] is relative, [1 + token] absolute; of scores the token is the query's, of
 * inv_freq there is one. A hidden score is -INFINITY. */
#ifndef POSENC_VECTORS_H
#define POSENC_VECTORS_H

@pound@include <stdint.h>

#define VECTORS_TOKENS @tokens@
#define VECTORS_AXES @axes@
#define VECTORS_HEADS @heads@
#define VECTORS_KV_HEADS @kv_heads@
#define VECTORS_HEAD_DIM @head_dim@
#define VECTORS_VALUE_DIM @value_dim@
#define VECTORS_SOFTMAX_SCALE @scale@

enum vectors_dtype { VECTORS_FLOAT32, VECTORS_BFLOAT16, VECTORS_FLOAT16 };

#ifdef __cplusplus
extern "C" {
#endif

)";

std::int64_t elements_of(const VectorTensor& tensor) { return static_cast<std::int64_t>(tensor.values.size()); }

std::string c_declaration(const VectorTensor& tensor) {
  return formatted("const {} vectors_{}[{}]", tensor.is_whole ? "int64_t" : "double", identifier(tensor.name),
                   std::max<std::int64_t>(1, elements_of(tensor)));
}

std::string c_shape(const VectorTensor& tensor) {
  return formatted("[{}]: {}", joined(tensor.shape, ", "), tensor.axes);
}

std::string c_bound_declaration(const VectorBound& bound, std::size_t dtypes) {
  return formatted("const double vectors_bound_{}[{}][{}]", identifier(bound.tensor), dtypes,
                   1 + bound.absolute.size());
}

}  // namespace

std::vector<VectorFile> c_files(const Vectors& vectors) {
  const VectorTensor* positions = vectors.find("positions");
  const std::int64_t axes = positions != nullptr && positions->shape.size() == 2 ? positions->shape.front() : 1;
  std::string header = filled(kCHead, {{"pound", "#"},
                                       {"title", title(vectors)},
                                       {"facts", fact_lines(vectors, " * ")},
                                       {"tokens", formatted("{}", vectors.options.tokens.value_or(0))},
                                       {"axes", formatted("{}", axes)},
                                       {"heads", formatted("{}", vectors.layer.heads)},
                                       {"kv_heads", formatted("{}", vectors.layer.kv_heads)},
                                       {"head_dim", formatted("{}", vectors.layer.head_dim)},
                                       {"value_dim", formatted("{}", vectors.layer.value_dim)},
                                       {"scale", number_text(vectors.layer.softmax_scale, "")}});
  std::string source = formatted(
      "/* Golden vectors: {}. Made by posenc vectors. */\n#include \"vectors.h\"\n\n"
      "#include <math.h>\n",
      title(vectors));
  for (const VectorTensor& tensor : vectors.tensors) {
    const std::string declared = c_declaration(tensor);
    header += formatted("extern {}; /* {} */\n", declared, c_shape(tensor));
    source += formatted("\n{} = {{\n{}}};\n", declared, number_rows(tensor.values, tensor.is_whole, "-INFINITY"));
  }
  header += "\n";
  for (std::size_t b = 0; !vectors.bounds.empty() && b < vectors.bounds.front().bounds.size(); ++b) {
    const std::string declared = c_bound_declaration(vectors.bounds.front().bounds[b], vectors.bounds.size());
    header += formatted("extern {};\n", declared);
    source += formatted("\n{} = {{\n", declared);
    for (const VectorBounds& of_dtype : vectors.bounds) {
      std::vector<double> row{of_dtype.bounds[b].relative};
      row.insert(row.end(), of_dtype.bounds[b].absolute.begin(), of_dtype.bounds[b].absolute.end());
      source += formatted("  {{\n{}  }},\n", number_rows(row, false, "-INFINITY"));
    }
    source += "};\n";
  }
  header += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return {{"vectors.h", std::move(header)}, {"vectors.c", std::move(source)}};
}

}  // namespace posenc::inline v0_2::golden
