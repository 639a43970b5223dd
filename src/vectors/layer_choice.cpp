#include "vectors/layer_choice.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::int64_t kKvHeads = 2;     // two, so that an exchange of them shows
constexpr std::int64_t kMostHeads = 64;  // beyond it one KV head and its queries are enough

// The first of several names, at most `most` of them.
std::string listed(std::vector<std::string> names, std::string_view between) {
  constexpr std::size_t kShown = 4;
  if (names.size() > kShown) names.resize(kShown, "...");
  return joined(names, between);
}

// Layers of one stack that are asked for and attend.
struct Found {
  std::size_t stack;
  std::vector<std::size_t> places;
};

std::vector<Found> attending(const Plan& plan, const VectorOptions& options) {
  const LayerKind kind = options.cross ? LayerKind::cross_attention : LayerKind::attention;
  std::vector<Found> out;
  for (std::size_t s = 0; s < plan.stacks.size(); ++s) {
    const Stack& stack = plan.stacks[s];
    if (options.stack && stack.name != *options.stack) continue;
    Found found{s, {}};
    for (std::size_t l = 0; l < stack.layers.size(); ++l) {
      const LayerPlan& layer = stack.layers[l];
      if (layer.kind == kind && layer.index == options.layer.value_or(layer.index)) found.places.push_back(l);
    }
    if (!found.places.empty()) out.push_back(std::move(found));
  }
  return out;
}

void require_known(const Stack& stack) {
  if (stack.known) return;
  refuse("stack", "have positions that are known", stack.unknown.empty() ? "not known" : stack.unknown.front());
}

[[noreturn]] void refuse_absent(const Plan& plan, const VectorOptions& options) {
  std::vector<std::string> stacks;
  std::vector<std::string> kinds;  // of layers of that index
  for (const Stack& stack : plan.stacks) {
    stacks.push_back(stack.name);
    if (options.stack && stack.name != *options.stack) continue;
    for (const LayerPlan& layer : stack.layers) {
      if (options.layer && layer.index != *options.layer) continue;
      const std::string kind(name(layer.kind));
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  if (options.stack && std::ranges::find(stacks, *options.stack) == stacks.end()) {
    refuse("stack", formatted("be one of the plan's: {}", listed(stacks, ", ")), formatted("\"{}\"", *options.stack));
  }
  for (const Stack& stack : plan.stacks) {  // one that is not read has no layers, and says why
    if (stack.name == options.stack.value_or(stack.name) && stack.layers.empty()) require_known(stack);
  }
  const std::string wanted = options.cross ? "cross-attention" : "attention";
  if (options.layer && kinds.empty()) refuse("layer", "be one of the plan's", formatted("{}", *options.layer));
  const std::string layer = options.layer ? formatted("layer {}", *options.layer) : "plan";
  refuse(layer, formatted("have {}", wanted), kinds.empty() ? "without layers" : listed(kinds, ", "));
}

// Where layers differ, the first would stand for others that it does not.
void require_alike(const Stack& stack, const Found& found) {
  std::vector<std::string> kinds;
  for (const LayerRun& run : layer_runs(stack)) {
    const bool is_asked = std::ranges::any_of(found.places, [&](std::size_t place) {
      return std::ranges::find(run.layers, static_cast<std::int64_t>(place)) != run.layers.end();
    });
    if (is_asked) kinds.push_back(selection(run));
  }
  if (kinds.size() > 1) {
    refuse("layer", formatted("be given, since layers differ: {},", listed(kinds, "; ")), "omitted");
  }
}

// Whether a rule has numbers for each head of so many.
bool numbers_heads(const LayerPlan& layer) {
  const bool by_rotation = std::ranges::any_of(layer.rotate, [&](const Rotate& rotate) {
    return rotate.role == RotateRole::main && rotate.heads != 0 && rotate.heads < layer.heads;
  });
  return by_rotation || std::ranges::any_of(layer.score, [](const ScoreTerm& term) {
           return std::holds_alternative<Alibi>(term) || std::holds_alternative<Sandwich>(term);
         });
}

}  // namespace

void refuse(std::string field, std::string must, std::string is) {
  throw Error(kMake, {std::move(field), std::move(must), std::move(is)});
}

LayerChoice choose_layer(const Plan& plan, const VectorOptions& options) {
  const std::vector<Found> found = attending(plan, options);
  if (found.empty()) refuse_absent(plan, options);
  if (found.size() > 1) {
    std::vector<std::string> names;
    for (const Found& one : found) names.push_back(plan.stacks[one.stack].name);
    refuse("stack", formatted("be given, since several stacks attend: {},", listed(names, ", ")), "omitted");
  }
  const Stack& stack = plan.stacks[found.front().stack];
  require_known(stack);
  require_alike(stack, found.front());
  return {found.front().stack, found.front().places.front()};
}

LayerPlan with_fewer_heads(LayerPlan layer) {
  const bool fits = layer.heads >= 1 && layer.kv_heads >= 1 && layer.heads % layer.kv_heads == 0;
  if (!fits || numbers_heads(layer)) return layer;
  const std::int64_t group = layer.heads / layer.kv_heads;
  const std::int64_t before = layer.heads;
  layer.kv_heads = std::min(layer.kv_heads, group * kKvHeads > kMostHeads ? std::int64_t{1} : kKvHeads);
  layer.heads = group * layer.kv_heads;
  for (Rotate& rotate : layer.rotate) {
    if (rotate.heads == before) rotate.heads = layer.heads;
  }
  return layer;
}

}  // namespace posenc::inline v0_2::golden
