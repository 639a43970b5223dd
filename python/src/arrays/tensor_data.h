// A tensor of a file as an array of any library.
// Bound with the files that give such tensors, by bind_tensor_file.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace posenc::python {

void bind_tensor_data(nanobind::module_& module);

}  // namespace posenc::python
