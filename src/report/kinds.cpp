#include <string>
#include <vector>

#include "base/formatted.h"
#include "report/parts.h"

namespace posenc::report {

std::string letter(std::size_t at) {
  constexpr std::size_t kLetters = 26;
  std::string out(1, static_cast<char>('A' + at % kLetters));
  if (at >= kLetters) out += formatted("{}", at / kLetters);
  return out;
}

std::vector<Kind> kinds_of(const Stack& stack) {
  std::vector<Kind> out;
  for (LayerRun& run : layer_runs(stack)) {
    const LayerPlan* const first = &stack.layers[static_cast<std::size_t>(run.layers.front())];
    out.push_back({letter(out.size()), std::move(run), first});
  }
  return out;
}

std::string named_layers(const LayerRun& run) {
  constexpr std::size_t kFew = 8;
  std::string out = selection(run);
  return run.blocks.size() <= kFew && out.find("...") != std::string::npos ? joined(run.blocks, ", ") : out;
}

std::vector<std::int64_t> doubling(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = first; n < last; n *= 2) {
    out.push_back(n);
    if (n > last / 2) break;
  }
  out.push_back(last);
  return out;
}

}  // namespace posenc::report
