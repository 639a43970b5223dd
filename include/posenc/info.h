// What this build of posenc is, and what the machine lets it use.
//
// The instruction set is chosen once, by feature bits: the best that the machine has, or the one that the environment
// variable POSENC_ISA names. A name that is unknown or not supported here makes the first use throw Error.
//
// avx512_bf16 and amx are avx512 with products of bfloat16 for attention. The first is the best on AMD's processors; on
// others, where it is slower, it is for those who name it. Amx is the best wherever it is there. Its tiles are the
// operating system's to grant: it is asked once, on first use, unless POSENC_ISA names another set. It refuses where a
// thread has a signal stack too small for them, and once it has granted them it refuses such stacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/export.h"

namespace posenc::inline v0_2 {

enum class Isa : std::uint8_t { automatic, scalar, avx2, avx512, neon, avx512_bf16, amx };

POSENC_API std::string_view name(Isa isa) noexcept;

// What kernels of this build can run on this machine, worst first. Never empty: scalar is always there.
POSENC_API std::vector<Isa> supported_isas();

// What Isa::automatic stands for. Throws Error when POSENC_ISA names something else than a member of supported_isas().
POSENC_API Isa selected_isa();

struct Info {
  std::string version;                    // "0.2.0"
  std::string compiler;                   // "GNU 12.2.0"
  std::string build_type;                 // "Release"
  std::string cpu;                        // the vendor's own name, or empty
  std::vector<std::string> cpu_features;  // "avx2", "fma", "avx512f", ...
  std::vector<Isa> isas;                  // supported_isas()
  Isa selected = Isa::scalar;             // selected_isa()
};

POSENC_API Info info();

}  // namespace posenc::inline v0_2
