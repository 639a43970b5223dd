// choose_layer: the blocks that have RoPE among those that were asked for; the first of them, if all do alike or the
// caller takes the first; then which of its rotations. Failures say which word is missing, and between what.
#include "inspect/layer_choice.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "inspect/stage_text.h"
#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// What one block rotates: the rotations of its self and cross attention.
struct Block {
  const Stack* stack = nullptr;
  std::int64_t index = 0;
  std::vector<std::pair<const LayerPlan*, const Rotate*>> rotations;
};

// The blocks that have RoPE.
// In the order of the plan; of one index only, where that is given.
std::vector<Block> blocks_of(const std::vector<const Stack*>& stacks, std::optional<std::int64_t> index) {
  std::vector<Block> blocks;
  for (const Stack* stack : stacks) {
    for (const LayerPlan& layer : stack->layers) {
      if (layer.rotate.empty() || (index && layer.index != *index)) continue;
      const bool same = !blocks.empty() && blocks.back().stack == stack && blocks.back().index == layer.index;
      if (!same) blocks.push_back({stack, layer.index, {}});
      for (const Rotate& rotate : layer.rotate) blocks.back().rotations.emplace_back(&layer, &rotate);
    }
  }
  return blocks;
}

// Rotations in order, and the shapes of their queries and keys.
bool rotate_alike(const Block& a, const Block& b) {
  return std::equal(
      a.rotations.begin(), a.rotations.end(), b.rotations.begin(), b.rotations.end(), [](const auto& x, const auto& y) {
        return *x.second == *y.second && x.first->heads == y.first->heads && x.first->kv_heads == y.first->kv_heads;
      });
}

// Blocks of one stack whose RoPE is the same.
std::string alike_text(const std::vector<Block>& blocks, const Block& like) {
  LayerRun run;
  for (const Block& block : blocks) {
    if (block.stack == like.stack && rotate_alike(block, like)) run.blocks.push_back(block.index);
  }
  return selection(run);
}

// The first block of each kind, across stacks.
std::vector<Block> different(const std::vector<Block>& blocks) {
  std::vector<Block> kinds;
  for (const Block& block : blocks) {
    if (std::none_of(kinds.begin(), kinds.end(), [&](const Block& kind) { return rotate_alike(kind, block); })) {
      kinds.push_back(block);
    }
  }
  return kinds;
}

std::string names_of(const std::vector<Block>& blocks) {
  std::vector<std::string> names;
  for (const Block& block : blocks) {
    const std::string name = printable(excerpt(block.stack->name));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return join(names, ", ");
}

// Blocks whose RoPE differs: which word would tell them apart?
[[noreturn]] void ask(const std::vector<Block>& blocks, const std::vector<Block>& kinds) {
  const bool one_stack =
      std::all_of(blocks.begin(), blocks.end(), [&](const Block& b) { return b.stack == blocks.front().stack; });
  if (!one_stack) {
    throw UsageError{formatted("--stack is needed: RoPE differs between stacks: {}", names_of(blocks))};
  }
  // Groups of layers; a model may have a kind for every layer.
  constexpr std::size_t kShown = 3;
  std::vector<std::string> groups;
  for (const Block& kind : kinds) groups.push_back(alike_text(blocks, kind));
  if (groups.size() > kShown) groups.resize(kShown, "...");
  throw UsageError{formatted("--layer is needed: RoPE differs between layers: {}", join(groups, "; "))};
}

// The one that queries and keys pass through. Where there are several (Gemma 4's patches: channels that rotate by w,
// and others by h), each has positions of its own, and which is meant must be said.
std::int64_t only_rotation(const Block& block) {
  std::vector<std::string> found;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < std::ssize(block.rotations); ++i) {
    const Rotate& rotate = *block.rotations[static_cast<std::size_t>(i)].second;
    if (rotate.role == RotateRole::indexer) continue;
    found.push_back(formatted("{}: channels {} by {}", i, channels_text(rope(rotate)),
                              printable(join(rope(rotate).axes.names, ", "))));
    last = i;
  }
  if (found.size() <= 1) return found.empty() ? 0 : last;
  throw UsageError{formatted("--rotation is needed: {} layer {} has {}", printable(excerpt(block.stack->name)),
                             block.index, join(found, "; "))};
}

// Exit code 4: the model has no RoPE, or this layer has none; then the layers that have it are named.
Failure rotates_nothing(const std::vector<const Stack*>& stacks, std::optional<std::int64_t> layer) {
  const std::vector<Block> others = blocks_of(stacks, {});
  if (others.empty()) return failure(kMalformed, "this model has no RoPE");
  std::vector<std::string> ranges;
  for (const Stack* stack : stacks) {
    LayerRun run;
    for (const Block& block : others) {
      if (block.stack == stack) run.blocks.push_back(block.index);
    }
    if (!run.blocks.empty()) ranges.push_back(formatted("{} {}", printable(excerpt(stack->name)), selection(run)));
  }
  return failure(kMalformed, formatted("layer {} has no RoPE; layers that have it: {}", *layer, join(ranges, "; ")));
}

}  // namespace

std::vector<const Stack*> chosen_stacks(const Plan& plan, const std::optional<std::string>& name) {
  std::vector<const Stack*> chosen;
  std::vector<std::string> names;
  for (const Stack& stack : plan.stacks) {
    names.push_back(stack.name);
    if (!name || stack.name == *name) chosen.push_back(&stack);
  }
  if (name && chosen.empty()) {
    throw UsageError{formatted("--stack {}: this model has {}", printable(*name),
                               names.empty() ? "no stacks" : printable(excerpt(join(names, ", "))))};
  }
  return chosen;
}

void require_read(const std::vector<const Stack*>& stacks) {
  const auto has_layers = [](const Stack* stack) { return !stack->layers.empty(); };
  if (std::any_of(stacks.begin(), stacks.end(), has_layers)) return;
  for (const Stack* stack : stacks) {
    if (stack->known) continue;
    throw failure(kMalformed, formatted("the stack {} is not known: {}", printable(excerpt(stack->name)),
                                        printable(join(stack->unknown, ", "))));
  }
}

std::string block_ranges(const std::vector<const Stack*>& stacks) {
  std::vector<std::string> parts;
  for (const Stack* stack : stacks) {
    if (stack->layers.empty()) continue;
    const auto [first, last] = std::minmax_element(stack->layers.begin(), stack->layers.end(),
                                                   [](const auto& a, const auto& b) { return a.index < b.index; });
    parts.push_back(formatted("{} {}-{}", printable(excerpt(stack->name)), first->index, last->index));
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

LayerChoice choose_layer(const Plan& plan, const LayerWords& words, WhenLayersDiffer when) {
  const std::vector<const Stack*> stacks = chosen_stacks(plan, words.stack);
  require_read(stacks);
  const bool there = std::any_of(stacks.begin(), stacks.end(), [&](const Stack* stack) {
    return std::any_of(stack->layers.begin(), stack->layers.end(),
                       [&](const LayerPlan& layer) { return layer.index == words.layer.value_or(layer.index); });
  });
  if (words.layer && !there) {
    throw UsageError{formatted("--layer {}: this model's layers are {}", *words.layer, block_ranges(stacks))};
  }
  const std::vector<Block> blocks = blocks_of(stacks, words.layer);
  if (blocks.empty()) throw rotates_nothing(stacks, words.layer);
  const std::vector<Block> kinds = different(blocks);
  if (kinds.size() > 1 && when == WhenLayersDiffer::ask) ask(blocks, kinds);

  const Block& block = blocks.front();
  const std::int64_t rotation = words.rotation ? *words.rotation : only_rotation(block);
  if (rotation >= std::ssize(block.rotations)) {
    throw UsageError{formatted("--rotation {}: {} layer {} has {}, counted from 0", rotation,
                               printable(excerpt(block.stack->name)), block.index,
                               count(std::ssize(block.rotations), "rotation"))};
  }
  const auto& [layer, rotate] = block.rotations[static_cast<std::size_t>(rotation)];
  return {block.stack, layer, rotate, rotation, std::ssize(block.rotations), alike_text(blocks, block)};
}

std::vector<LayerChoice> choose_kinds(const Plan& plan, const LayerWords& words) {
  std::vector<LayerChoice> out{choose_layer(plan, words, WhenLayersDiffer::take_the_first)};
  if (words.layer) return out;
  const std::vector<Block> blocks = blocks_of({out.front().stack}, {});
  for (const Block& kind : different(blocks)) {
    // Blocks that differ in their heads alone rotate alike.
    const LayerWords one{words.stack, kind.index, words.rotation};
    if (std::ssize(kind.rotations) <= words.rotation.value_or(0)) continue;
    LayerChoice choice = choose_layer(plan, one, WhenLayersDiffer::take_the_first);
    const bool is_there = std::any_of(
        out.begin(), out.end(), [&](const LayerChoice& other) { return rope(*other.rotate) == rope(*choice.rotate); });
    if (is_there) continue;
    choice.alike = alike_text(blocks, kind);
    out.push_back(std::move(choice));
  }
  return out;
}

std::string layer_name(const LayerChoice& choice, const LayerWords& words) {
  const bool many = !words.layer && choice.alike.find_first_not_of("0123456789") != std::string::npos;
  return formatted("{} {} {}", printable(excerpt(choice.stack->name)), many ? "layers" : "layer", choice.alike);
}

}  // namespace posenc::tool
