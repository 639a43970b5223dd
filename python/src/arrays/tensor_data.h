// A tensor of a file as an array of any library.
#pragma once

#include <nanobind/nanobind.h>

namespace posenc::python {

void bind_tensor_data(nanobind::module_& module);

}  // namespace posenc::python
