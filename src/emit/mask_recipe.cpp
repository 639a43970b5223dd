// The attention mask of a layer as a recipe: a function of the places i and j of query and key in the sequence.
#include "base/formatted.h"
#include "emit/recipe.h"

namespace posenc::code {
namespace {

// All of `have` and `more`.
void require_too(std::optional<Expr>& have, Expr more) {
  have = have ? std::move(*have) && std::move(more) : std::move(more);
}

}  // namespace

void add_mask(Recipe& recipe, const LayerPlan& layer, const Sources& sources) {
  const Expr i = name("i", Type::whole);
  const Expr j = name("j", Type::whole);
  const Mask& mask = layer.mask;
  std::optional<Expr> seen;
  std::vector<Parameter> parameters{{"i", Type::whole, From::q_order}, {"j", Type::whole, From::k_order}};
  std::string text;
  switch (mask.kind) {
    case MaskKind::causal:
      require_too(seen, j <= i);
      text = "causal";
      break;
    case MaskKind::bidirectional: text = "bidirectional"; break;
    case MaskKind::prefix: {
      // j <= i or j < prefix
      const Expr prefix = name("prefix", Type::whole, true);
      require_too(seen, j <= larger(i, prefix - whole(1)));
      parameters.push_back({"prefix", Type::whole, From::prefix});
      text = "prefix: tokens at the front are seen by all, and causal";
      break;
    }
    case MaskKind::sparse:
      recipe.has_selection = true;
      recipe.tables.push_back({.name = "selected",
                               .shape = "[queries, keys]",
                               .comment = "which keys a query may see: the model picks them",
                               .is_mask = true,
                               .golden = "attn_mask"});
      text = "sparse, brought by the caller";
      break;
  }
  if (const std::string source = sources("mask/kind"); !source.empty()) text += " (" + source + ")";
  if (!mask.detail.empty()) text += " (" + harmless(mask.detail) + ")";
  if (mask.window) {
    if (mask.window->past < 0 || mask.window->future < 0) refuse("this window", "it reaches less than 0 tokens");
    recipe.constants.push_back(
        {"past", mask.window->past, "of the sliding window, in tokens: " + sources("mask/window")});
    require_too(seen, i - j <= constant("past", Type::whole));
    text += formatted(", sliding window of {} keys back", mask.window->past + 1);
    if (mask.kind != MaskKind::causal) {
      recipe.constants.push_back({"future", mask.window->future, "of the sliding window, in tokens"});
      require_too(seen, j - i <= constant("future", Type::whole));
      text += formatted(" and {} ahead", mask.window->future);
    }
  }
  if (mask.chunk) {
    if (*mask.chunk < 1) refuse("this chunk", "it has less than 1 token");
    recipe.constants.push_back({"chunk", *mask.chunk, "tokens of a chunk: " + sources("mask/chunk")});
    const Expr chunk = constant("chunk", Type::whole);
    require_too(seen, floor_divide(i, chunk) == floor_divide(j, chunk));
    text += formatted(", chunks of {} tokens", *mask.chunk);
  }
  recipe.facts.emplace_back("mask", text);
  if (!seen) return;
  recipe.visible = Function{.name = "visible",
                            .comment = "Whether the query at place i of the sequence sees the key at place j.",
                            .parameters = std::move(parameters),
                            .result = std::move(*seen)};
}

}  // namespace posenc::code
