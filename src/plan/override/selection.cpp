// Which layers a setting is for. Where the user names none: those for which the key of that name in a config.json is.
#include <algorithm>
#include <set>

#include "base/formatted.h"
#include "plan/override/override.h"

namespace posenc::plan {
namespace {

// "default: the gemma3_text family", as family_default() writes it.
std::string_view family_in(std::string_view from) {
  constexpr std::string_view kHead = "default: the ";
  constexpr std::string_view kTail = " family";
  if (!from.starts_with(kHead) || !from.ends_with(kTail) || from.size() <= kHead.size() + kTail.size()) return {};
  return from.substr(kHead.size(), from.size() - kHead.size() - kTail.size());
}

bool is_text(const Stack& stack) { return stack.name == "decoder" || stack.name == "encoder"; }

bool attends_at_all(const LayerPlan& layer) {
  return layer.kind == LayerKind::attention || layer.kind == LayerKind::cross_attention;
}

bool is_named(const StackEdit& edit, std::size_t place) {
  const LayerPlan& layer = edit.layer(place);
  const Which& which = edit.which;
  switch (which.layers) {
    case LayerChoice::by_rule:
    case LayerChoice::all: return layer.kind == LayerKind::attention;
    case LayerChoice::full: return layer.kind == LayerKind::attention && !edit.slid(place);
    case LayerChoice::sliding: return layer.kind == LayerKind::attention && edit.slid(place);
    case LayerChoice::cross: return layer.kind == LayerKind::cross_attention;
    case LayerChoice::numbers: break;
  }
  return layer.kind == LayerKind::attention && std::ranges::any_of(which.ranges, [&](const auto& range) {
           return range.first <= layer.index && layer.index <= range.second;
         });
}

// A family with a rope per layer type has a flat rope_scaling for the full layers, and llama.cpp scales the sliding
// ones of some architectures by nothing. Where keys are compressed, only those layers have the rule (DeepSeek V4).
bool is_scaled(const StackEdit& edit, std::size_t place) {
  const Family* family = edit.family;
  if (family != nullptr && family->compressed_keys) return edit.layer(place).compression.has_value();
  const bool apart = (family != nullptr && family->ropes_per_type && !family->flat_rope_for_all_types) ||
                     (edit.architecture != nullptr && edit.architecture->sliding_unscaled);
  return !apart || !edit.slid(place);
}

}  // namespace

bool slides(const LayerPlan& layer) noexcept { return layer.mask.window.has_value() || layer.mask.chunk.has_value(); }

bool names_layers(const Which& which) noexcept { return which.layers != LayerChoice::by_rule; }

Rope& mutable_rope(Rotate& rotate) noexcept {
  if (auto* xpos = std::get_if<XPos>(&rotate.scheme)) return xpos->rope;
  return *std::get_if<Rope>(&rotate.scheme);
}

// The sources of a stack name its family; of a plan without sources its own family is as near as one can get.
const Family* family_of(const Plan& plan, std::size_t stack) {
  if (plan.source.kind == SourceKind::gguf) return nullptr;
  const std::string before = formatted("/stacks/{}/", stack);
  for (const ValueSource& source : plan.sources) {
    const std::string_view name = family_in(source.from);
    if (name.empty() || !source.where.starts_with(before)) continue;
    if (const Family* family = find_family(name)) return family;
  }
  return stack == 0 ? find_family(plan.family) : nullptr;
}

const GgufArchitecture* architecture_of(const Plan& plan, std::size_t stack) {
  return plan.source.kind == SourceKind::gguf && stack == 0 ? find_gguf_architecture(plan.family) : nullptr;
}

std::vector<std::size_t> chosen_stacks(const Plan& plan, const Which& which, const Assignment& first) {
  std::vector<std::size_t> chosen;
  for (std::size_t at = 0; at < plan.stacks.size(); ++at) {
    const Stack& stack = plan.stacks[at];
    if (which.stack.empty() ? is_text(stack) : stack.name == which.stack) chosen.push_back(at);
  }
  if (chosen.empty() && which.stack.empty() && !plan.stacks.empty()) chosen.push_back(0);
  for (const auto& range : which.ranges) {
    const auto is_last = [&](std::size_t at) {
      const std::vector<LayerPlan>& layers = plan.stacks[at].layers;
      return !layers.empty() && range.second <= layers.back().index;
    };
    if (chosen.empty() || std::ranges::any_of(chosen, is_last)) continue;
    const std::vector<LayerPlan>& layers = plan.stacks[chosen.front()].layers;
    refuse(first, formatted("be for layers that are there (0 to {})", layers.empty() ? 0 : layers.back().index),
           formatted("for layer {}", range.second));
  }
  if (!chosen.empty()) return chosen;
  if (which.stack.empty()) refuse(first, "be for a plan that has layers", "for one that has none");
  std::vector<std::string_view> names;  // in their order, each once
  std::set<std::string_view> seen;
  for (const Stack& stack : plan.stacks) {
    if (seen.insert(stack.name).second) names.push_back(stack.name);
  }
  refuse(
      first,
      formatted("be for layers (all, full, sliding, cross, 0-5,7) or a stack that is there ({})", joined(names, ", ")),
      Assignment{which.stack, ""}.shown() + did_you_mean(which.stack, names));
}

bool is_latent(const StackEdit& edit, const LayerPlan& layer) noexcept {
  if (layer.rotate.empty() || rope(layer.rotate.front()).first_channel == 0) return false;
  return edit.architecture != nullptr ? edit.architecture->latent : edit.family != nullptr && edit.family->latent;
}

std::vector<std::size_t> chosen_layers(const StackEdit& edit) {
  std::vector<std::size_t> chosen;
  const std::vector<LayerPlan>& layers = edit.stack().layers;
  for (std::size_t place = 0; place < layers.size(); ++place) {
    if (attends_at_all(layers[place]) && is_named(edit, place)) chosen.push_back(place);
  }
  return chosen;
}

std::vector<std::size_t> rotating_layers(const StackEdit& edit, std::string_view field) {
  std::vector<std::size_t> chosen = chosen_layers(edit);
  std::erase_if(chosen, [&](std::size_t place) { return edit.layer(place).rotate.empty(); });
  if (names_layers(edit.which) || chosen.empty()) return chosen;
  if (field == "scaling") {
    std::erase_if(chosen, [&](std::size_t place) { return !is_scaled(edit, place); });
    return chosen;
  }
  if (field != "base") return chosen;
  const std::vector<std::string> sources = sources_of_field(edit.plan, edit.at, "rotate/0/base");
  const auto full = std::ranges::find_if(chosen, [&](std::size_t place) { return !edit.slid(place); });
  const std::size_t lead = full == chosen.end() ? chosen.front() : *full;
  const double base = rope(edit.layer(lead).rotate.front()).base;
  // Two defaults of a class may have one text: then the values tell them apart.
  const auto follows = [&](std::size_t place) {
    const bool same_key = sources[place] == sources[lead];
    const bool from_key = sources[lead].starts_with('/');
    return same_key && (from_key || rope(edit.layer(place).rotate.front()).base == base);
  };
  std::erase_if(chosen, [&](std::size_t place) { return !follows(place); });
  return chosen;
}

}  // namespace posenc::plan
