// --threads, --isa and --products; which products an instruction set has.
#include "tensors/machine_options.h"

#include <algorithm>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kMostThreads = 1024;  // as POSENC_THREADS (posenc/parallel.h)

std::vector<std::string> names_of(const std::vector<Isa>& isas) {
  std::vector<std::string> out;
  for (const Isa isa : isas) out.emplace_back(name(isa));
  return out;
}

}  // namespace

OptionSpec threads_option(const std::string& left_out) {
  return {.names = "--threads", .value = "N", .description = "How many threads " + left_out};
}

OptionSpec isa_option() {
  return {
      .names = "--isa",
      .value = "I",
      .description = "Instruction set of the kernels, one that posenc info lists (default: POSENC_ISA, or the best)"};
}

OptionSpec products_option() {
  return {.names = "--products",
          .value = "P",
          .description =
              "Products in QK^T and PV: f32 (default), or bf16: inputs rounded to it where the machine has faster "
              "bf16 products (docs/attention.md)"};
}

// From 1: the 0 of posenc/parallel.h, all that there are, is what holds without the option.
std::optional<std::int64_t> threads_given(const Given& given) { return given.whole("--threads", 1, kMostThreads); }

// Names of the sets that this machine has, so that any other is refused with those in the message.
Isa isa_given(const Given& given) {
  const std::vector<Isa> isas = supported_isas();
  const auto chosen = given.choice("--isa", names_of(isas));
  return chosen ? isas[*chosen] : Isa::automatic;
}

Products products_given(const Given& given) {
  return given.choice("--products", {"f32", "bf16"}).value_or(0) == 0 ? Products::f32 : Products::bf16;
}

Products products_on(Isa isa, Products allowed) {
  // Only these two have such products (posenc/info.h).
  const Isa used = isa == Isa::automatic ? selected_isa() : isa;
  return used == Isa::avx512_bf16 || used == Isa::amx ? allowed : Products::f32;
}

}  // namespace posenc::tool
