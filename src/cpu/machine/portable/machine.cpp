// A machine of which nothing is known: the scalar kernels alone. The folders x86 and arm know more; CMake picks one.
#include "cpu/machine/machine.h"

namespace posenc::cpu {

std::string processor_name() { return {}; }

std::vector<std::string> processor_features() { return {}; }

std::vector<IsaKernels> runnable_kernels() {
  return {{Isa::scalar,
           {kernels::angles_scalar, kernels::rotate_scalar, kernels::convert_scalar, kernels::normalise_scalar,
            kernels::normalise_backward_scalar, kernels::input_scalar, &kernels::attention_scalar,
            &kernels::codes_scalar}}};
}

}  // namespace posenc::cpu
