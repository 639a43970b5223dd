// torch's tensors by the table of functions that DLPack 1.3 has for C, `__dlpack_c_exchange_api__` of their class: what
// Tensor.__dlpack__ does in Python in 2 microseconds, in less than a tenth of one.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

namespace posenc::python {

namespace nb = nanobind;

// What a tensor shows of its memory, for as long as it lives and keeps its shape; nothing for whatever is not exactly a
// torch.Tensor (a FakeTensor of a graph has no memory), or where torch has no such function.
std::optional<nb::dlpack::dltensor> shown_by_torch(nb::handle array);

}  // namespace posenc::python
