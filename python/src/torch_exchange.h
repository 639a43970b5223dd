// torch's tensors by the table of functions that DLPack 1.3 has for C, `__dlpack_c_exchange_api__` of their class: what
// Tensor.__dlpack__ does in Python in 2 microseconds, in a tenth of one.
#pragma once

#include <nanobind/nanobind.h>

namespace posenc::python {

namespace nb = nanobind;

// A capsule of DLPack, which nb::ndarray takes; invalid for whatever is not exactly a torch.Tensor (a FakeTensor of a
// graph has no memory), or where torch has no such table.
nb::object torch_capsule(nb::handle array);

}  // namespace posenc::python
