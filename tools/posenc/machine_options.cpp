#include "machine_options.h"

#include <algorithm>
#include <vector>

#include "formatted.h"
#include "text.h"

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
  return {.names = "--threads", .value = "N", .description = "So many; " + left_out};
}

OptionSpec isa_option() {
  return {.names = "--isa",
          .value = "I",
          .description =
              "The kernels' instruction set, of those that posenc info names; what POSENC_ISA says, or the "
              "best, when left out"};
}

std::optional<std::int64_t> threads_given(const Given& given) { return given.whole("--threads", 1, kMostThreads); }

Isa isa_given(const Given& given) {
  const std::vector<Isa> isas = supported_isas();
  const auto chosen = given.choice("--isa", names_of(isas));
  return chosen ? isas[*chosen] : Isa::automatic;
}

}  // namespace posenc::tool
