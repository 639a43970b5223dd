// Run-time dispatch: the instruction sets that this build has and this machine runs, POSENC_ISA, and the KernelTable of
// each. Isa::automatic is the best one.
#include "cpu/machine/dispatch.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/escape.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

const std::vector<IsaKernels>& runnable() {
  static const std::vector<IsaKernels> found = runnable_kernels();
  return found;
}

std::string names(std::span<const IsaKernels> among) {
  std::string out;
  for (const IsaKernels& k : among) out.append(out.empty() ? "" : ", ").append(name(k.isa));
  return out;
}

}  // namespace

Isa choose_isa(std::string_view wanted, std::span<const IsaKernels> among) {
  if (wanted.empty() || wanted == name(Isa::automatic)) return among.back().isa;
  const auto found = std::ranges::find(among, wanted, [](const IsaKernels& k) { return name(k.isa); });
  if (found == among.end()) throw Error("POSENC_ISA", {"", "be one of " + names(among), escape(wanted)});
  return found->isa;
}

const kernels::KernelTable& kernels_for(std::string_view where, Isa isa) {
  const auto kernels_of = [](Isa chosen) { return std::ranges::find(runnable(), chosen, &IsaKernels::isa); };
  if (isa == Isa::automatic) {
    static const kernels::KernelTable& selected = kernels_of(selected_isa())->table;
    return selected;
  }
  const auto found = kernels_of(isa);
  if (found == runnable().end()) {
    throw Error(where, {"isa", "be one of automatic, " + names(runnable()), std::string(name(isa))});
  }
  return found->table;
}

}  // namespace posenc::cpu

namespace posenc::inline v0_2 {
std::string_view name(Isa isa) noexcept {
  switch (isa) {
    case Isa::automatic: return "automatic";
    case Isa::scalar: return "scalar";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::neon: return "neon";
    case Isa::avx512_bf16: return "avx512_bf16";
    case Isa::amx: return "amx";
  }
  return "unknown";
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> out;
  for (const cpu::IsaKernels& k : cpu::runnable()) out.push_back(k.isa);
  return out;
}

Isa selected_isa() {
  static const Isa selected = [] {
    const char* wanted = std::getenv("POSENC_ISA");
    return cpu::choose_isa(wanted == nullptr ? "" : wanted, cpu::runnable());
  }();
  return selected;
}

}  // namespace posenc::inline v0_2
