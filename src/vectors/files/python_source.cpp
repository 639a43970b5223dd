// vectors.py: tuples of numbers, so that nothing needs to be installed to read them.
#include "base/formatted.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::string_view kPythonHead = R"PY("""Golden vectors: @title@.

Made by posenc vectors. Results are those of a float64 reference; docs/vectors.md of posenc says how they are held.

@facts@
TENSORS[name] is (shape, values), row-major; a hidden score is -inf. BOUNDS[dtype][name] is (relative, absolute):
|port - expected| <= absolute[token] + relative * |expected|, of scores with the query's token.
"""

from math import inf

TENSORS = {}
BOUNDS = {}
INPUTS = @inputs@
)PY";

std::string quoted_names(const Vectors& vectors) {
  std::vector<std::string> names;
  for (const VectorTensor& tensor : vectors.tensors) {
    if (tensor.is_input) names.push_back(formatted("\"{}\"", tensor.name));
  }
  return formatted("[{}]", joined(names, ", "));
}

std::string tuple_of(const std::vector<std::int64_t>& shape) {
  return formatted("({}{})", joined(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace

VectorFile python_file(const Vectors& vectors) {
  std::string out = filled(kPythonHead, {{"title", in_docstring(title(vectors))},
                                         {"facts", in_docstring(fact_lines(vectors, ""))},
                                         {"inputs", quoted_names(vectors)}});
  for (const VectorTensor& tensor : vectors.tensors) {
    out += formatted("\n# {}\nTENSORS[\"{}\"] = ({}, (\n{}))\n", tensor.axes, tensor.name, tuple_of(tensor.shape),
                     number_rows(tensor.values, tensor.is_whole, "-inf"));
  }
  for (const VectorBounds& of_dtype : vectors.bounds) {
    out += formatted("\nBOUNDS[\"{}\"] = {{}}\n", dtype_word(of_dtype.dtype));
    for (const VectorBound& bound : of_dtype.bounds) {
      out += formatted("BOUNDS[\"{}\"][\"{}\"] = ({}, (\n{}))\n", dtype_word(of_dtype.dtype), bound.tensor,
                       bound.relative, number_rows(bound.absolute, false, "-inf"));
    }
  }
  return {"vectors.py", std::move(out)};
}

}  // namespace posenc::inline v0_2::golden
