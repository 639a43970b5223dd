// emit(): which layer is meant, its recipe (recipe.h), and the language (back_ends.h).
#include "posenc/emit.h"

#include <algorithm>

#include "base/formatted.h"
#include "emit/back_ends.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

struct Chosen {
  std::size_t stack = 0;
  const LayerPlan* layer = nullptr;
  std::string layers;  // "layers 0-31", "layer 5"
};

bool attends(const LayerPlan& layer, bool cross) {
  return layer.kind == (cross ? LayerKind::cross_attention : LayerKind::attention);
}

// Without a layer: the one of which all others are copies.
Chosen chosen(const Plan& plan, const EmitOptions& options) {
  const auto stack = options.stack ? std::ranges::find(plan.stacks, *options.stack, &Stack::name) : plan.stacks.begin();
  if (stack == plan.stacks.end()) {
    std::vector<std::string_view> names;
    for (const Stack& one : plan.stacks) names.push_back(one.name);
    throw Error("emit", {"stack", "be one of the plan's: " + joined(names, ", "), options.stack.value_or("omitted")});
  }
  const char* sort = options.cross ? "cross attention" : "attention";
  const LayerPlan* found = nullptr;
  std::string layers;
  std::vector<std::string> others;
  for (const LayerRun& run : layer_runs(*stack)) {
    const LayerPlan& first = stack->layers[static_cast<std::size_t>(run.layers.front())];
    if (options.layer) {
      const auto at = std::ranges::find(run.blocks, *options.layer);
      if (at == run.blocks.end()) continue;
      const auto place = static_cast<std::size_t>(run.layers[static_cast<std::size_t>(at - run.blocks.begin())]);
      // Another kind of layer than attention is refused by its name, where it is the one that was asked for.
      if (found != nullptr && !attends(first, options.cross)) continue;
      if (found == nullptr || attends(first, options.cross)) found = &stack->layers[place];
      if (attends(first, options.cross)) layers = selection(run);
      continue;
    }
    if (!attends(first, options.cross)) continue;
    if (found == nullptr) found = &first;
    others.push_back(selection(run));
    layers = others.back();
  }
  if (found == nullptr) code::require_known(*stack);  // without layers, and the stack says why
  if (found == nullptr || (options.layer && options.cross && !attends(*found, true))) {
    throw Error("emit", {"layer", formatted("be one of {} with {}", stack->name, sort),
                         options.layer ? formatted("{}", *options.layer) : "omitted, and none has any"});
  }
  if (others.size() > 1) {
    throw Error(
        "emit",
        {"layer", formatted("be given, since layers of {} differ ({})", stack->name, joined(others, "; ")), "omitted"});
  }
  const bool is_one = layers.find_first_of("-,") == std::string::npos;
  return {static_cast<std::size_t>(stack - plan.stacks.begin()), found,
          (is_one ? "layer " : "layers ") + (layers.empty() ? formatted("{}", found->index) : layers)};
}

code::Written written(const code::Recipe& recipe, EmitTarget as) {
  switch (as) {
    case EmitTarget::numpy: return code::numpy_code(recipe);
    case EmitTarget::torch: return code::torch_code(recipe);
    case EmitTarget::c: return code::c_code(recipe);
    case EmitTarget::cpp: return code::cpp_code(recipe);
    case EmitTarget::cuda: return code::cuda_code(recipe);
    case EmitTarget::triton: return code::triton_code(recipe);
    case EmitTarget::metal: return code::metal_code(recipe);
  }
  throw Error("emit", {"as", "be a language that emit writes", formatted("{}", static_cast<int>(as))});
}

}  // namespace

EmittedCode emit(const Plan& plan, const EmitOptions& options) {
  const Chosen from = chosen(plan, options);
  const code::Recipe recipe = code::recipe_of(plan, from.stack, *from.layer, from.layers);
  code::Written made = written(recipe, options.as);
  return {.as = options.as,
          .file_name = std::move(made.file_name),
          .text = std::move(made.text),
          .functions = std::move(made.functions),
          .port = std::move(made.port),
          .beside = recipe.beside};
}

std::string_view name(EmitTarget target) noexcept {
  switch (target) {
    case EmitTarget::numpy: return "numpy";
    case EmitTarget::torch: return "torch";
    case EmitTarget::c: return "c";
    case EmitTarget::cpp: return "cpp";
    case EmitTarget::cuda: return "cuda";
    case EmitTarget::triton: return "triton";
    case EmitTarget::metal: return "metal";
  }
  return "?";
}

}  // namespace posenc::inline v0_2
