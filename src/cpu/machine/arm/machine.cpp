// AArch64 under Linux, by the bits that the kernel hands to each process (docs.kernel.org/arch/arm64/elf_hwcaps.html).
// NEON, there called asimd, with fused multiply-add and conversions of binary16, is in every AArch64.
#include "cpu/machine/machine.h"

#include <sys/auxv.h>

#include <array>

namespace posenc::cpu {
namespace {

struct Feature {
  const char* name;
  unsigned long type;  // of the auxiliary vector's entry
  unsigned long bit;
};

constexpr std::array kFeatures{
    Feature{"asimd", AT_HWCAP, HWCAP_ASIMD},     Feature{"asimdhp", AT_HWCAP, HWCAP_ASIMDHP},
    Feature{"asimddp", AT_HWCAP, HWCAP_ASIMDDP}, Feature{"i8mm", AT_HWCAP2, HWCAP2_I8MM},
    Feature{"bf16", AT_HWCAP2, HWCAP2_BF16},     Feature{"sve", AT_HWCAP, HWCAP_SVE},
    Feature{"sve2", AT_HWCAP2, HWCAP2_SVE2},
};

bool has(const Feature& feature) { return (getauxval(feature.type) & feature.bit) != 0; }

}  // namespace

// AArch64 has no instruction that tells a name, and Linux knows numbers of the maker and the part only.
std::string processor_name() { return {}; }

std::vector<std::string> processor_features() {
  std::vector<std::string> out;
  for (const Feature& feature : kFeatures) {
    if (has(feature)) out.emplace_back(feature.name);
  }
  return out;
}

std::vector<IsaKernels> runnable_kernels() {
  std::vector<IsaKernels> out{{Isa::scalar,
                               {kernels::angles_scalar, kernels::rotate_scalar, kernels::convert_scalar,
                                kernels::normalise_scalar, kernels::normalise_backward_scalar, kernels::input_scalar,
                                &kernels::attention_scalar, &kernels::codes_scalar}}};
  if (has(kFeatures.front())) {
    out.push_back({Isa::neon,
                   {kernels::angles_neon, kernels::rotate_neon, kernels::convert_neon, kernels::normalise_neon,
                    kernels::normalise_backward_neon, kernels::input_neon, &kernels::attention_neon,
                    &kernels::codes_neon, nullptr, true}});
  }
  return out;
}

}  // namespace posenc::cpu
