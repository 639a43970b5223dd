// A layer as a recipe: sizes, what stands beside it, and where its numbers come from. Rotation, scores and mask are
// files of their own.
#include "emit/recipe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/formatted.h"
#include "base/number_ranges.h"
#include "posenc/error.h"
#include "posenc/version.h"

namespace posenc::code {
namespace {

void add_sizes(Recipe& recipe, const LayerPlan& layer, const Sources& sources) {
  const auto require = [](const char* field, std::int64_t is) {
    if (is < 1) refuse("this layer", formatted("its {} is {}", field, is));
  };
  require("heads", layer.heads);
  require("kv_heads", layer.kv_heads);
  require("head_dim", layer.head_dim);
  require("value_dim", layer.value_dim);
  if (layer.heads % layer.kv_heads != 0) {
    refuse("this layer", formatted("{} heads cannot share {} KV heads", layer.heads, layer.kv_heads));
  }
  recipe.heads = layer.heads;
  recipe.kv_heads = layer.kv_heads;
  recipe.head_dim = layer.head_dim;
  recipe.value_dim = layer.value_dim;
  recipe.constants.push_back({"heads", layer.heads, "of queries: " + sources("heads")});
  recipe.constants.push_back({"kv_heads", layer.kv_heads, "of keys and values: " + sources("kv_heads")});
  if (layer.heads != layer.kv_heads)
    recipe.constants.push_back({"group", layer.heads / layer.kv_heads, "query heads that share a KV head"});
  recipe.constants.push_back({"head_dim", layer.head_dim, "channels of a head: " + sources("head_dim")});
  recipe.constants.push_back({"value_dim", layer.value_dim, "channels of a value: " + sources("value_dim")});
  std::string text = formatted("{} query heads", layer.heads);
  if (layer.kv_heads != layer.heads) text += formatted(" over {} KV heads (GQA)", layer.kv_heads);
  recipe.facts.emplace_back("heads", text + formatted(" of {} channels", layer.head_dim));
}

std::string words(const QkNorm& norm) {
  std::string text = norm.of == QkNorm::Of::keys ? "keys" : "q and k";
  text += norm.order == QkNorm::Order::after ? " are" : " come";
  text += " normalised (" + std::string(name(norm.kind)) + " norm over ";
  text += norm.over == QkNorm::Over::head ? "a head" : "all heads";
  return text + (norm.weighted ? ", with weights)" : ")");
}

// What the model does and this code does not; and what it could not be right without.
void add_beside(Recipe& recipe, const Stack& stack, const LayerPlan& layer) {
  switch (layer.kind) {
    case LayerKind::attention:
    case LayerKind::cross_attention: break;
    case LayerKind::linear_attention:
    case LayerKind::state_space:
    case LayerKind::convolution:
    case LayerKind::deformable_attention:
    case LayerKind::none: refuse(name(layer.kind), "emit writes softmax attention");
  }
  if (layer.compression) {
    refuse("keys made of several tokens each", formatted("compression {} is not written yet", *layer.compression));
  }
  if (layer.qk_norm) {
    switch (layer.qk_norm->order) {
      case QkNorm::Order::before: recipe.beside.push_back(words(*layer.qk_norm)); break;
      case QkNorm::Order::after:
        recipe.norm_follows = true;
        recipe.beside.push_back("between rotate and attention, " + words(*layer.qk_norm));
        break;
    }
  }
  if (layer.channel_scale) recipe.beside.emplace_back("queries come multiplied by the learned scales");
  if (layer.kv_from) {
    recipe.beside.push_back(
        formatted("k and v are those of layer {}, whose KV cache this layer shares", *layer.kv_from));
  }
  if (!layer.added.empty())
    recipe.beside.emplace_back("q and k come with the position embeddings that each layer adds");
  if (!stack.input.empty()) recipe.beside.emplace_back("position embeddings are added before the first layer");
}

void check_numbers(const Recipe& recipe) {
  for (const Constant& one : recipe.constants) {
    if (const auto* real = std::get_if<double>(&one.value); real != nullptr && !std::isfinite(*real)) {
      refuse("this layer", formatted("its {} is not finite", one.name));
    }
    const auto* whole = std::get_if<std::int64_t>(&one.value);
    if (whole != nullptr && std::abs(*whole) > std::numeric_limits<std::int32_t>::max()) {
      refuse("this layer", formatted("its {}, {}, does not fit in 32 bits", one.name, *whole));
    }
  }
}

bool has(const Expr& expr, Op op) {
  for (const Expr& operand : expr.of) {
    if (has(operand, op)) return true;
  }
  return expr.op == op;
}

bool has(const Function& function, Op op) {
  for (const Let& let : function.lets) {
    if (has(let.is, op)) return true;
  }
  return has(function.result, op);
}

}  // namespace

bool uses(const Recipe& recipe, Op op) {
  std::vector<const Function*> all;
  for (const Function& helper : recipe.helpers) all.push_back(&helper);
  for (const Function& bias : recipe.biases) all.push_back(&bias);
  if (recipe.rotation) all.push_back(&recipe.rotation->inv_freq);
  if (recipe.query_scale) all.push_back(&*recipe.query_scale);
  if (recipe.visible) all.push_back(&*recipe.visible);
  for (const Function* function : all) {
    if (has(*function, op)) return true;
  }
  return false;
}

bool Recipe::reads(From from) const {
  const auto does = [&](const Function& function) {
    return std::ranges::any_of(function.parameters, [&](const Parameter& one) { return one.from == from; });
  };
  return (query_scale && does(*query_scale)) || (visible && does(*visible)) || std::ranges::any_of(biases, does);
}

void refuse(std::string_view what, std::string_view why) {
  throw Error("emit", {"layer", "be one that can be written as code",
                       std::string(what) + ", which cannot: " + std::string(why)});
}

// A comment's line must not go on in the next one (a backslash, or the trigraph of one), nor end a docstring.
std::string harmless(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string out;
  for (const char letter : text.substr(0, kLongest)) {
    const bool is_printable = letter >= ' ' && letter <= '~';
    const bool repeats = letter == '?' && !out.empty() && out.back() == '?';
    out += !is_printable || letter == '\\' || letter == '"' || letter == '`' || repeats ? '_' : letter;
  }
  return out + (text.size() > kLongest ? "..." : "");
}

std::string source_of(const Plan& plan, std::size_t stack, const LayerPlan& layer, std::string_view field) {
  const std::vector<LayerPlan>& layers = plan.stacks[stack].layers;
  const std::string prefix = formatted("/stacks/{}/layers/", stack);
  for (const ValueSource& source : plan.sources) {
    std::string_view where = source.where;
    if (!where.starts_with(prefix)) continue;
    where.remove_prefix(prefix.size());
    const std::size_t slash = where.find('/');
    if (slash == std::string_view::npos || where.substr(slash + 1) != field) continue;
    if (has_number(where.substr(0, slash), &layer - layers.data())) return harmless(source.from);
  }
  return {};
}

void require_known(const Stack& stack) {
  if (stack.known) return;
  refuse("this stack", "a fact that its positions need could not be decided: " + harmless(joined(stack.unknown, ", ")));
}

Recipe recipe_of(const Plan& plan, std::size_t stack, const LayerPlan& layer, const std::string& layers) {
  const Sources sources(plan, stack, layer);
  const Stack& of = plan.stacks[stack];
  Recipe recipe;
  require_known(of);
  recipe.heading = {formatted("What {} of {} ({}) {} with positions.", layers,
                              harmless(plan.source.name.empty() ? plan.model_type : plan.source.name),
                              harmless(of.name), layers.starts_with("layers") ? "do" : "does")};
  add_beside(recipe, of, layer);
  add_sizes(recipe, layer, sources);
  add_rotation(recipe, plan, layer, sources);
  add_scores(recipe, layer, sources);
  add_mask(recipe, layer, sources);
  check_numbers(recipe);
  if (recipe.rotates_values) {
    if (!recipe.rotation) refuse("rotated values", "the layer has no rotation");
    if (layer.value_dim != layer.head_dim) refuse("rotated values", "they are not as wide as keys");
    if (recipe.unrotates_output && recipe.rotation->factor) {
      refuse("an output that is rotated back", "cos and sin have a factor besides");
    }
  }
  for (const Function& bias : recipe.biases) {
    for (const Parameter& parameter : bias.parameters) recipe.axes = std::max(recipe.axes, parameter.axis + 1);
  }
  for (const Table& table : recipe.tables) {
    const auto same = [&](const Table& other) { return other.name == table.name; };
    if (std::ranges::count_if(recipe.tables, same) > 1) refuse("two biases of one kind", "emit writes one of each");
  }
  return recipe;
}

}  // namespace posenc::code
