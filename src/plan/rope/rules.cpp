// Scaling rules by rope_type: default, linear, dynamic, yarn, longrope, llama3, proportional; a function each.
#include <algorithm>
#include <vector>

#include "base/formatted.h"
#include "plan/keys/nearest_names.h"
#include "plan/rope/rope.h"

namespace posenc::plan {
namespace {

Scaling read_default(RopeKeys&, std::int64_t) { return {}; }

Scaling read_linear(RopeKeys& keys, std::int64_t) { return LinearScaling{.factor = keys.factor()}; }

// The alpha of plain NTK: base * alpha^(dim / (dim - 2)), whatever the length. 0 and absent: none (Hunyuan).
std::optional<double> own_alpha(RopeKeys& keys) {
  if (!keys.scope().family().alpha_stretches) return {};
  const std::optional<double> alpha = keys.number("alpha");
  return alpha && *alpha == 0 ? std::nullopt : alpha;
}

// Hugging Face's rule knows one length, the model's own.
Scaling read_dynamic(RopeKeys& keys, std::int64_t) {
  if (const auto alpha = own_alpha(keys)) return NtkScaling{.alpha = *alpha};
  if (!keys.has_trained_length()) keys.fail_missing("max_position_embeddings");
  DynamicScaling rule{.factor = keys.factor(), .max_position_embeddings = keys.trained_length().value};
  keys.note("scaling/max_position_embeddings", keys.trained_length().from);
  return rule;
}

// 0 is how Hugging Face's code reads an absent one.
std::optional<double> beta(RopeKeys& keys, std::string_view name) {
  const std::optional<double> value = keys.number(name);
  return value && *value == 0 ? std::nullopt : value;
}

void warn_of_zero(RopeKeys& keys, const std::optional<double>& attention_factor) {
  if (!attention_factor || *attention_factor != 0) return;
  keys.reader().warn("no-rotation", "attention_factor is 0: every rotated channel becomes 0.", {});
}

// transformers' function asks the top of rope_parameters alone, and takes null for false.
bool truncates(RopeKeys& keys) {
  if (!keys.scope().has_class()) return keys.flag("truncate").value_or(true);
  const auto top = keys.dicts().at_top("truncate");
  const bool is_said = !top || (!top->value.is_null() && keys.reader().boolean(*top).value_or(true));
  if (top) {
    keys.reader().mark_read(*top);
    keys.note("scaling/truncate", *top);
  }
  const auto own = keys.dicts().has_kinds_of_class() ? keys.peek("truncate") : std::nullopt;
  if (!own || !own->in_file) return is_said;
  keys.reader().mark_lost(*own);
  if (keys.reader().boolean(*own).value_or(is_said) != is_said) {
    keys.reader().warn("precedence",
                       formatted("{} is {}, but transformers reads it at the top of rope_parameters alone, and {}.",
                                 own->from, !is_said, is_said ? "truncates" : "does not truncate"),
                       {own->from});
  }
  return is_said;
}

Scaling read_yarn(RopeKeys& keys, std::int64_t) {
  YarnScaling rule;
  rule.original_max_position_embeddings = keys.original_length({});
  rule.factor = keys.factor_or_stretch(rule.original_max_position_embeddings);
  rule.attention_factor = keys.number("attention_factor");
  // DeepSeek V4's class gives the dictionary that it makes the factor, and none to one that it is given.
  const bool is_made = !keys.scope().has_class() || !keys.dicts().are_by_name();
  if (const auto& own = keys.scope().family().yarn_attention_factor; own && is_made && !rule.attention_factor) {
    rule.attention_factor = own;
    keys.note("scaling/attention_factor", family_default(keys.scope().family()));
  }
  rule.beta_fast = beta(keys, "beta_fast");
  rule.beta_slow = beta(keys, "beta_slow");
  rule.mscale = keys.number("mscale");
  rule.mscale_all_dim = keys.number("mscale_all_dim");
  rule.truncate = truncates(keys);
  warn_of_zero(keys, rule.attention_factor);
  return rule;
}

// Of transformers' classes PhiMoE's alone has attention factors by the length; vLLM has them in every model.
std::optional<double> mscale(RopeKeys& keys, std::string_view name) {
  const ConfigScope& scope = keys.scope();
  if (!scope.has_class() || scope.family().mscales) return keys.number(name);
  const auto place = keys.peek(name);
  if (place && place->in_file) keys.scope().pass_over(*place);
  return {};
}

Scaling read_longrope(RopeKeys& keys, std::int64_t dim) {
  LongRopeScaling rule;
  rule.original_max_position_embeddings = keys.original_length({.beside_wins = true});
  rule.factor = keys.factor_or_stretch(rule.original_max_position_embeddings);
  rule.short_factor = keys.divisors("short_factor", dim / 2);
  rule.long_factor = keys.divisors("long_factor", dim / 2);
  rule.attention_factor = keys.number("attention_factor");
  rule.short_mscale = mscale(keys, "short_mscale");
  rule.long_mscale = mscale(keys, "long_mscale");
  warn_of_zero(keys, rule.attention_factor);
  return rule;
}

Scaling read_llama3(RopeKeys& keys, std::int64_t) {
  Llama3Scaling rule;
  rule.original_max_position_embeddings = keys.original_length({.must_be_less = true});
  rule.factor = keys.factor();
  rule.low_freq_factor = keys.required_number("low_freq_factor");
  rule.high_freq_factor = keys.required_number("high_freq_factor");
  if (!keys.reader().failed() && rule.low_freq_factor == rule.high_freq_factor) {
    keys.reader().warn(
        "equal-freq-factors",
        formatted("low_freq_factor and high_freq_factor are both {}: no pairs lie between.", rule.low_freq_factor), {});
  }
  return rule;
}

Scaling read_proportional(RopeKeys& keys, std::int64_t) {
  ProportionalScaling rule;
  std::optional<Place> part = keys.find("partial_rotary_factor");
  // Whoever has such a dictionary is asked for the number beside it, though no class says so (standardize_rope_params).
  if (!part) part = keys.scope().look(keys::kPartialFactor.name());
  if (part && !part->value.is_null()) {
    keys.reader().mark_read(*part);
    keys.note("scaling/partial_rotary_factor", *part);
    rule.partial_rotary_factor = keys.reader().number(*part).value_or(1.0);
  }
  rule.factor = keys.number("factor").value_or(1.0);
  return rule;
}

struct RopeRule {
  std::string_view type;
  Scaling (*read)(RopeKeys&, std::int64_t);
};
constexpr RopeRule kRules[] = {
    {"default", read_default},   {"linear", read_linear}, {"dynamic", read_dynamic},           {"yarn", read_yarn},
    {"longrope", read_longrope}, {"llama3", read_llama3}, {"proportional", read_proportional},
};
constexpr std::string_view kDefaultRule = "default";

std::string_view canonical(std::string_view type, const Family& family) {
  if (type == "deepseek_yarn") return "yarn";  // vLLM's name for it where the two mscales count
  if (type == "su" || (type == "yarn" && family.yarn_means_longrope)) return "longrope";
  if (type == "xdrope" && family.alpha_stretches) return "dynamic";
  if (type == "mrope") return kDefaultRule;
  return type;
}

// A slip of the pen, or a name with something added: dynamic_ntk.
bool is_meant(std::string_view name, std::string_view given) {
  return edits(given, name) <= std::max<std::size_t>(1, name.size() / 3) || given.find(name) != std::string_view::npos;
}

std::optional<std::string_view> known_type(RopeKeys& keys, const Place& place) {
  const auto text = keys.reader().string(place);
  if (!text) return {};
  const std::string_view type = canonical(*text, keys.scope().family());
  if (std::ranges::find(kRules, type, &RopeRule::type) != std::ranges::end(kRules)) return type;
  std::vector<std::string_view> names;
  for (const RopeRule& rule : kRules) names.push_back(rule.type);
  names.insert(names.end(), {"su", "mrope"});
  const std::string_view nearest = nearest_names(*text, names, 1).front();
  keys.reader().fail_stack(
      place, ErrorKind::unknown_rope_type,
      formatted("a known rule: {} or {}", joined(std::span(names).first(names.size() - 1), ", "), names.back()),
      is_meant(nearest, *text) ? formatted("did you mean {}?", nearest) : "");
  return {};
}

}  // namespace

std::optional<std::string_view> read_rope_type(RopeKeys& keys) {
  const auto place = keys.find("rope_type");
  auto old_place = keys.peek("type");
  if (old_place && keys.dicts().joins_class_defaults()) {
    keys.scope().pass_over(*old_place);
    old_place.reset();
  }
  if (old_place && !place) keys.reader().mark_read(*old_place);
  const std::optional<Place>& used = place ? place : old_place;
  if (!used) {
    keys.note("scaling/rule", "default: no rule is given");
    return kDefaultRule;
  }
  keys.note("scaling/rule", *used);
  const auto type = known_type(keys, *used);
  if (!type || !place || !old_place) return type;
  const auto other = keys.reader().string(*old_place);
  if (other && canonical(*other, keys.scope().family()) == *type) {
    keys.reader().mark_lost(*old_place);
  } else {
    keys.reader().settle(*place, *old_place);
  }
  return type;
}

Scaling read_scaling(RopeKeys& keys, std::string_view rope_type, std::int64_t dim) {
  if (keys.scope().family().mscales && rope_type != kDefaultRule && rope_type != "longrope") {
    keys.reader().undecided(
        formatted("{} multiplies cos and sin by short_mscale or long_mscale, for which {} has no place.",
                  keys.scope().family().name, rope_type),
        {});
  }
  return std::ranges::find(kRules, rope_type, &RopeRule::type)->read(keys, dim);
}

}  // namespace posenc::plan
