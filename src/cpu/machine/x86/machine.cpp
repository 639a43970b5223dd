// x86-64, by CPUID and XGETBV (Intel SDM vol. 2A, CPUID). A feature counts only when the operating system saves its
// registers: a hypervisor or a kernel may withhold them.
#include "cpu/machine/machine.h"

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cpu/machine/x86/offered_isas.h"
#include "cpu/machine/x86/tile_permission.h"

namespace posenc::cpu {
namespace {

enum class Register : std::uint8_t { eax, ebx, ecx, edx };

// Bits of XCR0.
constexpr std::uint64_t kYmm = 0x6;        // XMM and upper halves of YMM
constexpr std::uint64_t kZmm = 0xE6;       // and opmasks, upper halves of ZMM, ZMM16 to ZMM31
constexpr std::uint64_t kTiles = 0x60000;  // TILECFG and TILEDATA

struct Feature {
  const char* name;
  std::uint32_t leaf;
  std::uint32_t subleaf;
  Register where;
  std::uint32_t bit;
  std::uint64_t saved;
};

// clang-format off
constexpr std::array kFeatures{
    Feature{"avx2", 7, 0, Register::ebx, 5, kYmm},
    Feature{"fma", 1, 0, Register::ecx, 12, kYmm},
    Feature{"f16c", 1, 0, Register::ecx, 29, kYmm},
    Feature{"avx_vnni", 7, 1, Register::eax, 4, kYmm},
    Feature{"avx512f", 7, 0, Register::ebx, 16, kZmm},
    Feature{"avx512dq", 7, 0, Register::ebx, 17, kZmm},
    Feature{"avx512bw", 7, 0, Register::ebx, 30, kZmm},
    Feature{"avx512vl", 7, 0, Register::ebx, 31, kZmm},
    Feature{"avx512_vnni", 7, 0, Register::ecx, 11, kZmm},
    Feature{"avx512_bf16", 7, 1, Register::eax, 5, kZmm},
    Feature{"avx512_fp16", 7, 0, Register::edx, 23, kZmm},
    Feature{"amx_tile", 7, 0, Register::edx, 24, kTiles},
    Feature{"amx_bf16", 7, 0, Register::edx, 22, kTiles},
    Feature{"amx_int8", 7, 0, Register::edx, 25, kTiles},
};
// clang-format on

using Registers = std::array<std::uint32_t, 4>;  // eax, ebx, ecx, edx

// All zero for a leaf or subleaf that the processor does not have.
Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r{};
  if (leaf == 7 && subleaf > 0) {
    Registers first{};
    if (__get_cpuid_count(7, 0, &first[0], &first[1], &first[2], &first[3]) == 0 || first[0] < subleaf) return {};
  }
  if (__get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3]) == 0) return {};
  return r;
}

// XCR0, or 0 where the operating system does not use XSAVE.
std::uint64_t saved_registers() {
  constexpr std::uint32_t kOsxsave = 1U << 27U;
  if ((cpuid(1, 0)[2] & kOsxsave) == 0) return 0;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32U) | low;
}

bool has(const Feature& feature, std::uint64_t saved) {
  const std::uint32_t word = cpuid(feature.leaf, feature.subleaf)[static_cast<std::size_t>(feature.where)];
  return ((word >> feature.bit) & 1U) != 0 && (saved & feature.saved) == feature.saved;
}

// What differs by vendor: the order of instruction sets (offered_isas.h), and fetching ahead. AMD's processors see a
// rotation's lines coming: asking for them too made it up to a third slower, from L3 and from memory, where Intel's
// gain a sixth (docs/performance.md). A hypervisor hides models, but hardly ever this.
bool is_amd() {
  const Registers r = cpuid(0, 0);                                  // the vendor, in ebx, edx, ecx
  constexpr Registers kAmd{0, 0x68747541, 0x444D4163, 0x69746E65};  // "AuthenticAMD"
  return std::equal(r.begin() + 1, r.end(), kAmd.begin() + 1);
}

// Whoever names another set is left alone: once tiles are granted, a process can have no small signal stack any more.
bool are_tiles_wanted() {
  const char* const given = std::getenv("POSENC_ISA");
  const std::string_view wanted = given == nullptr ? "" : given;
  return wanted.empty() || wanted == name(Isa::automatic) || wanted == name(Isa::amx);
}

kernels::KernelTable kernels_of(Isa isa) {
  if (isa == Isa::scalar) {
    return {kernels::angles_scalar,
            kernels::rotate_scalar,
            kernels::convert_scalar,
            kernels::normalise_scalar,
            kernels::normalise_backward_scalar,
            kernels::input_scalar,
            &kernels::attention_scalar,
            &kernels::codes_scalar};
  }
  if (isa == Isa::avx2) {
    return {kernels::angles_avx2,
            kernels::rotate_avx2,
            kernels::convert_avx2,
            kernels::normalise_avx2,
            kernels::normalise_backward_avx2,
            kernels::input_avx2,
            &kernels::attention_avx2,
            &kernels::codes_avx2};
  }
  kernels::KernelTable table{kernels::angles_avx512,
                             kernels::rotate_avx512,
                             kernels::convert_avx512,
                             kernels::normalise_avx512,
                             kernels::normalise_backward_avx512,
                             kernels::input_avx512,
                             &kernels::attention_avx512,
                             &kernels::codes_avx512};
  if (isa == Isa::avx512_bf16) table.pairs = &kernels::pairs_avx512;
  if (isa == Isa::amx) table.pairs = &kernels::pairs_amx;
  return table;
}

}  // namespace

std::string processor_name() {
  std::array<char, 48> text{};
  for (std::uint32_t part = 0; part < 3; ++part) {  // leaves 0x80000002 to 4: 16 characters each
    const Registers r = cpuid(0x80000002U + part, 0);
    std::memcpy(text.data() + 16U * part, r.data(), 16);
  }
  std::string_view name(text.data(), text.size());
  name = name.substr(0, name.find('\0'));
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(name.substr(first, name.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> processor_features() {
  std::vector<std::string> out;
  const std::uint64_t saved = saved_registers();
  for (const Feature& feature : kFeatures) {
    if (has(feature, saved)) out.emplace_back(feature.name);
  }
  return out;
}

std::vector<IsaKernels> runnable_kernels() {
  const bool amd = is_amd();
  std::vector<Isa> isas = offered_isas({processor_features(), amd, are_tiles_wanted()});
  if (isas.back() == Isa::amx && !tiles_are_granted()) isas.pop_back();  // nobody else is asked
  std::vector<IsaKernels> out;
  for (const Isa isa : isas) {
    kernels::KernelTable table = kernels_of(isa);
    table.fetches_ahead = !amd;
    out.push_back({isa, table});
  }
  return out;
}

}  // namespace posenc::cpu
