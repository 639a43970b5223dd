// The extension module, bound by topic.
// Each bind_X() is the file bind/bind_X.cpp and adds the functions and classes of one topic to posenc._posenc. Names
// without a leading underscore are public: posenc/__init__.py re-exports them. The others are wrapped in Python
// (_read_plan.py, _compare.py, _convert.py, _diagnose.py, _emit.py, _vectors.py, reference.py), or serve tests.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "convert.h"
#include "posenc/parallel.h"
#include "refuse.h"

namespace posenc::python {

void bind_rope(nb::module_& module);
void bind_schemes(nb::module_& module);
void bind_plan(nb::module_& module);
void bind_override(nb::module_& module);
void bind_read_plan(nb::module_& module);
void bind_table(nb::module_& module);
void bind_rotate(nb::module_& module);
void bind_cache(nb::module_& module);
void bind_quantised(nb::module_& module);
void bind_compare(nb::module_& module);
void bind_convert(nb::module_& module);
void bind_diagnose(nb::module_& module);
void bind_vectors(nb::module_& module);
void bind_emit(nb::module_& module);
void bind_extend(nb::module_& module);
void bind_report(nb::module_& module);
void bind_input(nb::module_& module);
void bind_linear(nb::module_& module);
void bind_named_weights(nb::module_& module);
void bind_tensor_file(nb::module_& module);
void bind_reference_forms(nb::module_& module);
void bind_research(nb::module_& module);
void bind_properties(nb::module_& module);
void bind_weights(nb::module_& module);
void bind_add_input(nb::module_& module);
void bind_attend(nb::module_& module);
void bind_cache_view(nb::module_& module);
void bind_attend_backward(nb::module_& module);
void bind_prepared_layer(nb::module_& module);
void bind_reference(nb::module_& module);
void bind_reference_backward(nb::module_& module);
void bind_shard(nb::module_& module);

// "threads: int = 0, isa: typing.Literal[...] = 'automatic'": how many threads at most, 0 for all of the process's
// pool, and which kernels.
inline std::string how_signature() { return "threads: int = 0, isa: " + Convert<Isa>::type() + " = 'automatic'"; }

}  // namespace posenc::python
