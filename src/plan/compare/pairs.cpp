// Pairs up stacks by name and layers by block; layers that are of one run in A and of one in B are compared once.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/formatted.h"
#include "plan/compare/compare.h"

namespace posenc::plan {
namespace {

using LayerPlace = std::pair<std::int64_t, std::int64_t>;  // the block's index, and which layer of that block

// For each layer its key, and the number of its run.
struct NamedLayers {
  std::vector<LayerPlace> keys;
  std::vector<std::size_t> runs;
};

NamedLayers named_layers(const Stack& stack) {
  NamedLayers out;
  std::map<std::int64_t, std::int64_t> seen;
  for (const LayerPlan& layer : stack.layers) out.keys.emplace_back(layer.index, seen[layer.index]++);
  out.runs.resize(stack.layers.size());
  const std::vector<LayerRun> runs = layer_runs(stack);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const std::int64_t at : runs[r].layers) out.runs[static_cast<std::size_t>(at)] = r;
  }
  return out;
}

void append(LayerRun& run, const Stack& stack, std::size_t at) {
  run.layers.push_back(static_cast<std::int64_t>(at));
  run.blocks.push_back(stack.layers[at].index);
}

void append_run(LayerRun& to, const LayerRun& more) {
  to.layers.insert(to.layers.end(), more.layers.begin(), more.layers.end());
  to.blocks.insert(to.blocks.end(), more.blocks.begin(), more.blocks.end());
}

void sort_run(LayerRun& run) {
  std::vector<std::pair<std::int64_t, std::int64_t>> both;
  for (std::size_t at = 0; at < run.layers.size(); ++at) both.emplace_back(run.layers[at], run.blocks[at]);
  std::sort(both.begin(), both.end());
  for (std::size_t at = 0; at < both.size(); ++at) std::tie(run.layers[at], run.blocks[at]) = both[at];
}

// Pairs of layers by the runs that they belong to.
class PairGroups {
 public:
  explicit PairGroups(const StackPair& stacks) : stacks_(stacks) {}

  void add(std::optional<std::size_t> a, std::optional<std::size_t> b, const NamedLayers& in_a,
           const NamedLayers& in_b) {
    const auto run = [](std::optional<std::size_t> at, const NamedLayers& in) {
      return at ? static_cast<std::int64_t>(in.runs[*at]) : std::int64_t{-1};
    };
    const auto [found, is_new] = groups_.try_emplace({run(a, in_a), run(b, in_b)}, pairs_.size());
    if (is_new) {
      pairs_.push_back({a ? &stacks_.a->layers[*a] : nullptr, b ? &stacks_.b->layers[*b] : nullptr, {}});
      pairs_.back().layers.stack = stacks_.name();
    }
    LayerPair& pair = pairs_[found->second];
    if (a) append(pair.layers.a, *stacks_.a, *a);
    if (b) append(pair.layers.b, *stacks_.b, *b);
  }
  std::vector<LayerPair> take() { return std::move(pairs_); }

 private:
  const StackPair& stacks_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> groups_;
  std::vector<LayerPair> pairs_;
};

}  // namespace

std::vector<StackPair> paired_stacks(const Plan& a, const Plan& b) {
  std::vector<StackPair> pairs;
  const bool any_name = a.stacks.size() == 1 && b.stacks.size() == 1;
  std::vector<bool> is_taken(b.stacks.size(), false);
  std::map<std::string_view, std::deque<std::size_t>> left;  // of each name, those of B without a partner yet
  for (std::size_t j = 0; j < b.stacks.size(); ++j) {
    left[any_name ? std::string_view{} : b.stacks[j].name].push_back(j);
  }
  for (std::size_t i = 0; i < a.stacks.size(); ++i) {
    StackPair& pair = pairs.emplace_back();
    pair.a = &a.stacks[i];
    pair.at_a = static_cast<std::int64_t>(i);
    const auto partners = left.find(any_name ? std::string_view{} : pair.a->name);
    if (partners == left.end() || partners->second.empty()) continue;
    const std::size_t j = partners->second.front();
    partners->second.pop_front();
    is_taken[j] = true;
    pair.b = &b.stacks[j];
    pair.at_b = static_cast<std::int64_t>(j);
  }
  for (std::size_t j = 0; j < b.stacks.size(); ++j) {
    if (!is_taken[j]) pairs.push_back({nullptr, &b.stacks[j], 0, static_cast<std::int64_t>(j)});
  }
  return pairs;
}

std::vector<LayerPair> paired_layers(const StackPair& stacks) {
  const NamedLayers a = stacks.a != nullptr ? named_layers(*stacks.a) : NamedLayers{};
  const NamedLayers b = stacks.b != nullptr ? named_layers(*stacks.b) : NamedLayers{};
  std::map<LayerPlace, std::size_t> left;  // layers of B without a partner yet
  for (std::size_t at = 0; at < b.keys.size(); ++at) left.emplace(b.keys[at], at);
  PairGroups groups(stacks);
  for (std::size_t at = 0; at < a.keys.size(); ++at) {
    const auto partner = left.find(a.keys[at]);
    groups.add(at, partner == left.end() ? std::nullopt : std::optional(partner->second), a, b);
    if (partner != left.end()) left.erase(partner);
  }
  for (std::size_t at = 0; at < b.keys.size(); ++at) {
    if (left.contains(b.keys[at])) groups.add(std::nullopt, at, a, b);
  }
  return groups.take();
}

void append_layers(ComparedLayers& to, const ComparedLayers& more) {
  append_run(to.a, more.a);
  append_run(to.b, more.b);
}

void sort_layers(ComparedLayers& layers) {
  sort_run(layers.a);
  sort_run(layers.b);
}

std::string places(const LayerRun& run) {
  std::string out;
  for (std::size_t at = 0; at < run.layers.size();) {
    std::size_t last = at;
    while (last + 1 < run.layers.size() && run.layers[last + 1] == run.layers[last] + 1) ++last;
    out += formatted("{}{}", at == 0 ? "" : ",", run.layers[at]);
    if (last > at) out += formatted("-{}", run.layers[last]);
    at = last + 1;
  }
  return out;
}

}  // namespace posenc::plan
