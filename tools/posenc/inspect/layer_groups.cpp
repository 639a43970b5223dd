// Runs of equal layers as groups under a letter each, and ranges of layers ("0-4,6-10") as those letters.
#include "inspect/layer_groups.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace posenc::tool {
namespace {

// Which of `size` layers "0-4,6-10" names. What is no number or beyond the stack names nothing.
std::vector<bool> named_layers(std::string_view layers, std::size_t size) {
  std::vector<bool> named(size, false);
  while (!layers.empty()) {
    const std::string_view range = layers.substr(0, layers.find(','));
    layers.remove_prefix(std::min(layers.size(), range.size() + 1));
    std::size_t first = size;
    std::size_t last = size;
    const auto [end, error] = std::from_chars(range.data(), range.data() + range.size(), first);
    if (error != std::errc{}) continue;
    last = first;
    if (end != range.data() + range.size()) std::from_chars(end + 1, range.data() + range.size(), last);
    for (std::size_t i = first; i < size && i <= last; ++i) named[i] = true;
  }
  return named;
}

}  // namespace

bool has_attention(const LayerPlan& layer) {
  return layer.kind == LayerKind::attention || layer.kind == LayerKind::cross_attention;
}

// Sub-layers of a block stand side by side in Stack::layers.
std::int64_t block_count(const Stack& stack) {
  std::int64_t blocks = 0;
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    if (i == 0 || stack.layers[i].index != stack.layers[i - 1].index) ++blocks;
  }
  return blocks;
}

// A letter is one character, so that one can stand for each layer in a row (add_pattern).
std::vector<Group> groups_of(const Stack& stack) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::vector<Group> groups;
  const std::vector<LayerRun> runs = layer_runs(stack);
  for (std::size_t g = 0; g < runs.size(); ++g) {
    const std::string label = runs.size() == 1 ? "" : g < kLetters.size() ? std::string(1, kLetters[g]) : "*";
    groups.push_back({label, runs[g], &stack.layers[static_cast<std::size_t>(runs[g].layers.front())]});
  }
  return groups;
}

// Groups that are named whole give their letters; they have to be all that is named.
std::string letters_of(const Stack& stack, const std::vector<Group>& groups, std::string_view layers) {
  const std::vector<bool> named = named_layers(layers, stack.layers.size());
  if (std::find(named.begin(), named.end(), false) == named.end()) return {};
  std::string letters;
  std::ptrdiff_t covered = 0;
  for (const Group& group : groups) {
    const bool whole = std::all_of(group.run.layers.begin(), group.run.layers.end(),
                                   [&](std::int64_t at) { return named[static_cast<std::size_t>(at)]; });
    if (!whole) continue;
    letters += group.label;
    covered += std::ssize(group.run.layers);
  }
  return covered == std::count(named.begin(), named.end(), true) ? letters : std::string(layers);
}

}  // namespace posenc::tool
