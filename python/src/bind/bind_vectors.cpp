// Golden vectors, their files, and a port held to them. Which model is meant: posenc/_vectors.py.
#include <nanobind/stl/vector.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <vector>

#include "arrays/arrays.h"
#include "describe/describe_vectors.h"
#include "describe/value_type.h"
#include "file_error.h"
#include "module.h"
#include "posenc/vectors.h"
#include "signature.h"

namespace posenc::python {
namespace {

using Whole = std::optional<std::int64_t>;

// A dict of arrays: q, k, v, and tables by their names. Positions come apart, as whole numbers.
Vectors vectors_of_inputs(const Plan& plan, const VectorOptions& options, nb::handle inputs,
                          const std::vector<std::int64_t>& positions) {
  const char* where = "vectors";
  std::deque<std::string> names;
  std::deque<ConstArray> arrays;
  std::vector<NamedTensor> tables;
  VectorInputs given_inputs{.positions = positions};
  for (const auto& [name, array] : nb::cast<nb::dict>(inputs)) {
    names.push_back(Convert<std::string>::from_python(name, {where, "inputs"}));
    arrays.emplace_back(given(array, {where, names.back()}), Place{where, names.back()});
    const ConstTensorView view = arrays.back().view();
    if (names.back() == "q") {
      given_inputs.q = view;
    } else if (names.back() == "k") {
      given_inputs.k = view;
    } else if (names.back() == "v") {
      given_inputs.v = view;
    } else {
      tables.push_back({names.back(), view});
    }
  }
  given_inputs.tables = tables;
  const nb::gil_scoped_release released;
  return make_vectors(plan, options, given_inputs);
}

Vectors vectors_of(const Plan& plan, nb::handle stack, nb::handle layer, nb::handle tokens, nb::handle start,
                   nb::handle length, bool cross, nb::handle inputs, const std::vector<std::int64_t>& positions) {
  const char* where = "vectors";
  const VectorOptions options{.stack = Convert<std::optional<std::string>>::from_python(stack, {where, "stack"}),
                              .layer = Convert<Whole>::from_python(layer, {where, "layer"}),
                              .tokens = Convert<Whole>::from_python(tokens, {where, "tokens"}),
                              .start = Convert<Whole>::from_python(start, {where, "start"}),
                              .length = Convert<Whole>::from_python(length, {where, "length"}),
                              .cross = cross};
  if (!inputs.is_none()) return vectors_of_inputs(plan, options, inputs, positions);
  const nb::gil_scoped_release released;
  return make_vectors(plan, options);
}

// A memoryview of doubles, which NumPy and torch take as they take their own.
nb::object array_of(const Vectors& vectors, const std::string& name) {
  const VectorTensor* tensor = vectors.find(name);
  if (tensor == nullptr) throw nb::key_error(name.c_str());
  const NewArray out = new_array(nb::none(), DType::f64, tensor->shape);
  if (!tensor->values.empty()) {
    std::memcpy(out.view.data, tensor->values.data(), tensor->values.size() * sizeof(double));
  }
  return out.object;
}

VectorFileOptions file_options(nb::handle format, nb::handle test) {
  return {.format = Convert<VectorFormat>::from_python(format, {"vector_files", "format"}),
          .test = Convert<std::optional<VectorTest>>::from_python(test, {"vector_files", "test"})};
}

nb::dict files_of(const Vectors& vectors, nb::handle format, nb::handle test) {
  nb::dict out;
  for (const VectorFile& file : vector_files(vectors, file_options(format, test))) {
    out[nb::cast(file.name)] = nb::bytes(file.bytes.data(), file.bytes.size());
  }
  return out;
}

std::int64_t write_call(const Vectors& vectors, const std::string& directory, nb::handle format, nb::handle test) {
  const VectorFileOptions options = file_options(format, test);
  const auto write = [&] {
    const nb::gil_scoped_release released;
    return write_vectors(directory, vector_files(vectors, options));
  };
  return value_or_raise(write());
}

PortCheck check_call(const Vectors& vectors, const nb::dict& outputs, nb::handle dtype, bool wants_diagnosis) {
  const char* where = "check_port";
  std::deque<std::string> names;
  std::deque<ConstArray> arrays;
  std::vector<NamedTensor> named;
  for (const auto& [name, array] : outputs) {
    names.push_back(Convert<std::string>::from_python(name, {where, "outputs"}));
    arrays.emplace_back(given(array, {where, names.back()}), Place{where, names.back()}, Bools::taken);  // masks
    named.push_back({names.back(), arrays.back().view()});
  }
  const CheckPortOptions options{.dtype = Convert<std::optional<DType>>::from_python(dtype, {where, "dtype"}),
                                 .diagnose = wants_diagnosis};
  const nb::gil_scoped_release released;
  return check_port(vectors, named, options);
}

}  // namespace

void bind_vectors(nb::module_& m) {
  const std::string words =
      "format: " + Convert<VectorFormat>::type() + " = 'npy', test: " + Convert<VectorTest>::type() + " | None = None";
  bind_value<VectorOptions>(m);
  bind_value<VectorTensor>(m);
  bind_value<VectorBound>(m);
  bind_value<VectorBounds>(m);
  bind_value<Vectors>(m)
      .def("__getitem__", &array_of, nb::arg("name"), nb::sig("def __getitem__(self, name: str) -> memoryview"),
           "A tensor's numbers as a memoryview of float64 of its shape, which numpy.asarray and torch.asarray take. "
           "KeyError for a name that is not there.")
      .def(
          "describe", [](const Vectors& vectors) { return describe(vectors); },
          "The layer's facts, and the tensors with their shapes.");
  bind_value<CheckedTensor>(m);
  bind_value<PortCheck>(m)
      .def(
          "describe", [](const PortCheck& check) { return describe(check); },
          "'passes' or 'fails' on the first line, then each output, then what was done instead.")
      .def(
          "to_json", [](const PortCheck& check) { return to_json(check); }, "JSON as docs/vectors.md says.");
  m.def("_make_vectors", &vectors_of, nb::arg("plan"), nb::kw_only(), nb::arg("stack").none(), nb::arg("layer").none(),
        nb::arg("tokens").none(), nb::arg("start").none(), nb::arg("length").none(), nb::arg("cross"),
        nb::arg("inputs").none(), nb::arg("positions"),
        nb::sig(with_array_types("def _make_vectors(plan: Plan, *, stack: str | None, layer: int | None, "
                                 "tokens: int | None, start: int | None, length: int | None, cross: bool, "
                                 "inputs: dict[str, ArrayLike] | None, positions: list[int]) -> Vectors")
                    .c_str()));
  m.def("vector_files", &files_of, nb::arg("vectors"), nb::kw_only(), nb::arg("format") = "npy",
        nb::arg("test").none() = nb::none(),
        nb::sig(("def vector_files(vectors: Vectors, *, " + words + ") -> dict[str, bytes]").c_str()),
        "The files of a directory of vectors by name, 'vectors.json' first: numbers in that format, and a test that "
        "calls a port (omitted: the one that goes with the format). ValueError for a test that does not go with it.");
  m.def("_write_vectors", &write_call, nb::arg("vectors"), nb::arg("directory"), nb::kw_only(), nb::arg("format"),
        nb::arg("test").none(),
        nb::sig(("def _write_vectors(vectors: Vectors, directory: str, *, " + words + ") -> int").c_str()));
  m.def(
      "_read_vectors", [](const std::string& directory) { return value_or_raise(read_vectors(directory)); },
      nb::arg("directory"), nb::sig("def _read_vectors(directory: str) -> Vectors"));
  m.def("_check_port", &check_call, nb::arg("vectors"), nb::arg("outputs"), nb::kw_only(), nb::arg("dtype").none(),
        nb::arg("diagnose"),
        nb::sig(with_array_types("def _check_port(vectors: Vectors, outputs: dict[str, ArrayLike], *, "
                                 "dtype: str | None, diagnose: bool) -> PortCheck")
                    .c_str()));
}

}  // namespace posenc::python
