// Layers of a stack that attend alike are one kind (layer_runs of posenc/plan.h): the same plan but for the index.
// posenc attend needs one, posenc bench attend times each.
#include "attend/attend_layer.h"

#include <algorithm>
#include <vector>

#include "inspect/layer_choice.h"
#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// Layers of one stack that attend alike: run.layers are places in stack->layers, run.blocks the numbers that --layer
// takes.
struct Kind {
  const Stack* stack;
  LayerRun run;

  const LayerPlan& layer() const { return stack->layers[static_cast<std::size_t>(run.layers.front())]; }
};

bool has_shape(const LayerPlan& layer) {
  return layer.heads > 0 && layer.kv_heads > 0 && layer.head_dim > 0 && layer.value_dim > 0;
}

// Attention, or with --cross cross_attention; with --linear layers of linear attention too.
bool is_wanted(const LayerPlan& layer, const AttendingWords& words) {
  if (words.linear && !words.cross && layer.kind == LayerKind::linear_attention) return has_shape(layer);
  return layer.kind == (words.cross ? LayerKind::cross_attention : LayerKind::attention);
}

std::vector<Kind> kinds_of(const std::vector<const Stack*>& stacks, const AttendingWords& words) {
  std::vector<Kind> kinds;
  for (const Stack* stack : stacks) {
    for (LayerRun& run : layer_runs(*stack)) {
      const Kind kind{stack, std::move(run)};
      if (is_wanted(kind.layer(), words)) kinds.push_back(kind);
    }
  }
  return kinds;
}

// Several kinds are left: whether the stack or the layer has to be said, and which there are, three at most.
[[noreturn]] void ask(const std::vector<Kind>& kinds) {
  constexpr std::size_t kShown = 3;
  const bool one_stack = std::ranges::all_of(kinds, [&](const Kind& k) { return k.stack == kinds.front().stack; });
  std::vector<std::string> names;
  for (const Kind& kind : kinds) {
    const std::string name = one_stack ? selection(kind.run) : printable(excerpt(kind.stack->name));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (names.size() > kShown) names.resize(kShown, "...");
  if (!one_stack)
    throw UsageError{formatted("--stack is needed: attention differs between stacks: {}", join(names, ", "))};
  throw UsageError{formatted("--layer is needed: attention differs between layers: {}", join(names, "; "))};
}

// A config says of a layer of linear attention no more than that it is one; a plan in JSON may say the rest.
void refuse_shapeless(const std::vector<const Stack*>& stacks, const AttendingWords& words) {
  for (const Stack* stack : stacks) {
    for (const LayerPlan& layer : stack->layers) {
      if (layer.kind != LayerKind::linear_attention || has_shape(layer)) continue;
      if (words.cross || words.layer.value_or(layer.index) != layer.index) continue;
      throw failure(kMalformed, formatted("--linear: {} layer {} is linear attention of a shape that its plan does not "
                                          "know: heads, kv_heads, head_dim and value_dim are missing; a plan in JSON "
                                          "(posenc inspect --json) can be given them",
                                          printable(excerpt(stack->name)), layer.index));
    }
  }
}

// The kinds of that stack and layer; never none. A layer that the plan does not have is a usage error (2); one that is
// there and does not attend so, exit code 4.
std::vector<Kind> asked_kinds(const Plan& plan, const AttendingWords& words) {
  const std::vector<const Stack*> stacks = chosen_stacks(plan, words.stack);
  require_read(stacks);
  const bool is_there = std::ranges::any_of(stacks, [&](const Stack* stack) {
    return std::ranges::any_of(stack->layers,
                               [&](const LayerPlan& l) { return l.index == words.layer.value_or(l.index); });
  });
  if (words.layer && !is_there) {
    throw UsageError{formatted("--layer {}: this model's layers are {}", *words.layer, block_ranges(stacks))};
  }
  std::vector<Kind> kinds = kinds_of(stacks, words);
  if (words.layer) {
    std::erase_if(kinds, [&](const Kind& kind) { return std::ranges::count(kind.run.blocks, *words.layer) == 0; });
  }
  if (kinds.empty()) {
    if (words.linear) refuse_shapeless(stacks, words);
    throw failure(kMalformed,
                  formatted("{} no {}attention{}", words.layer ? "this layer has" : "this model has",
                            words.cross ? "cross-" : "", words.cross ? "" : "; for cross-attention give --cross"));
  }
  return kinds;
}

// With --layer that block alone, though others may be of its kind.
AttendingLayer named(const Kind& kind, const AttendingWords& words) {
  const std::string blocks = words.layer ? std::to_string(*words.layer) : selection(kind.run);
  const bool many = !words.layer && kind.run.blocks.size() > 1;
  return {kind.stack, &kind.layer(),
          formatted("{} {} {}", printable(excerpt(kind.stack->name)), many ? "layers" : "layer", blocks)};
}

}  // namespace

std::vector<AttendingLayer> attending_kinds(const Plan& plan, const AttendingWords& words) {
  std::vector<AttendingLayer> out;
  for (const Kind& kind : asked_kinds(plan, words)) out.push_back(named(kind, words));
  return out;
}

AttendingLayer choose_attending(const Plan& plan, const AttendingWords& words) {
  const std::vector<Kind> kinds = asked_kinds(plan, words);
  if (kinds.size() > 1) ask(kinds);
  return named(kinds.front(), words);
}

}  // namespace posenc::tool
