// The entry of the extension module posenc._posenc: every topic bound, once, at import.
#include "module.h"

#include <cstdlib>

NB_MODULE(_posenc, m) {
  m.doc() = "The position encodings of transformers: the compiled part of posenc.";
  // Objects that outlive the interpreter are no fault of a user: a plan that some other library still holds at exit, or
  // one in a cycle. Who works on this module may ask for nanobind's list of them.
  nanobind::set_leak_warnings(std::getenv("POSENC_LEAK_WARNINGS") != nullptr);
  // Order matters. The signature of a value's class shows the defaults of its members, which are read as Python objects
  // (value_type.h): classes of members are bound before those that hold them, Rope before the layers of a plan.
  posenc::python::bind_rope(m);
  posenc::python::bind_schemes(m);
  posenc::python::bind_plan(m);
  posenc::python::bind_read_plan(m);
  posenc::python::bind_table(m);
  posenc::python::bind_quantised(m);
  posenc::python::bind_rotate(m);
  posenc::python::bind_cache(m);
  posenc::python::bind_compare(m);
  posenc::python::bind_override(m);
  posenc::python::bind_convert(m);
  posenc::python::bind_diagnose(m);
  posenc::python::bind_vectors(m);
  posenc::python::bind_emit(m);
  posenc::python::bind_report(m);
  posenc::python::bind_cache_view(m);
  posenc::python::bind_extend(m);
  posenc::python::bind_properties(m);
  posenc::python::bind_weights(m);
  posenc::python::bind_input(m);
  posenc::python::bind_add_input(m);
  posenc::python::bind_prepared_layer(m);
  posenc::python::bind_attend(m);
  posenc::python::bind_attend_backward(m);
  posenc::python::bind_linear(m);
  posenc::python::bind_shard(m);
  posenc::python::bind_named_weights(m);
  posenc::python::bind_tensor_file(m);
  posenc::python::bind_reference(m);
  posenc::python::bind_reference_backward(m);
  posenc::python::bind_reference_forms(m);
  posenc::python::bind_research(m);
}
