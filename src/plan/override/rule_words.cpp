// rope_scaling=RULE with its parameters, and the parameters of the rule that stands. What a parameter is where it is
// not given is what the reader of a config.json makes of an absent key (src/plan/rope/rules.cpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "base/formatted.h"
#include "plan/facts/plan_limits.h"
#include "plan/json/plan_names.h"
#include "plan/override/override.h"

namespace posenc::plan {
namespace {

constexpr std::string_view kOriginal = "original_max_position_embeddings";

// Where a parameter stands in a rule.
using Slot = std::variant<std::monostate, double*, std::optional<double>*, std::int64_t*, bool*, std::vector<double>*>;

struct Named {
  std::string_view name;
  Slot slot;
};
using Slots = std::vector<Named>;

Slots slots(std::monostate&) { return {}; }
Slots slots(LinearScaling& rule) { return {{"factor", &rule.factor}}; }
Slots slots(NtkScaling& rule) { return {{"alpha", &rule.alpha}}; }
Slots slots(DynamicScaling& rule) { return {{"factor", &rule.factor}, {kOriginal, &rule.max_position_embeddings}}; }
Slots slots(QwenNtkScaling& rule) { return {{"seq_length", &rule.seq_length}}; }
Slots slots(YarnScaling& rule) {
  return {{"factor", &rule.factor},
          {kOriginal, &rule.original_max_position_embeddings},
          {"attention_factor", &rule.attention_factor},
          {"beta_fast", &rule.beta_fast},
          {"beta_slow", &rule.beta_slow},
          {"mscale", &rule.mscale},
          {"mscale_all_dim", &rule.mscale_all_dim},
          {"truncate", &rule.truncate}};
}
Slots slots(LongRopeScaling& rule) {
  return {{"factor", &rule.factor},
          {kOriginal, &rule.original_max_position_embeddings},
          {"short_factor", &rule.short_factor},
          {"long_factor", &rule.long_factor},
          {"attention_factor", &rule.attention_factor},
          {"short_mscale", &rule.short_mscale},
          {"long_mscale", &rule.long_mscale}};
}
Slots slots(Llama3Scaling& rule) {
  return {{"factor", &rule.factor},
          {kOriginal, &rule.original_max_position_embeddings},
          {"low_freq_factor", &rule.low_freq_factor},
          {"high_freq_factor", &rule.high_freq_factor}};
}
Slots slots(ProportionalScaling& rule) {
  return {{"partial_rotary_factor", &rule.partial_rotary_factor}, {"factor", &rule.factor}};
}
Slots slots(FactorListScaling& rule) { return {{"factors", &rule.factors}}; }

Slots slots_of(Scaling& scaling) {
  return std::visit([](auto& rule) { return slots(rule); }, scaling);
}

constexpr std::array<std::string_view, 17> kParameters = {
    "factor",   kOriginal,         "attention_factor", "beta_fast",    "beta_slow",   "mscale",       "mscale_all_dim",
    "truncate", "low_freq_factor", "high_freq_factor", "short_factor", "long_factor", "short_mscale", "long_mscale",
    "alpha",    "seq_length",      "factors"};

struct Alias {
  std::string_view also;
  std::string_view name;
};
constexpr Alias kAliases[] = {{"original", kOriginal},
                              {"original_length", kOriginal},
                              {"attn_factor", "attention_factor"},
                              {"rope_factor", "factor"},
                              {"rope_scale", "factor"}};

// Rules by the names of config files; the number is the alternative of Scaling.
struct RuleName {
  std::string_view name;
  std::size_t index;
};
constexpr RuleName kRuleWords[] = {{"none", 0},     {"linear", 1}, {"dynamic", 3},      {"yarn", 5},     {"llama3", 7},
                                   {"longrope", 6}, {"ntk", 2},    {"proportional", 8}, {"qwen_ntk", 4}, {"factors", 9},
                                   {"default", 0},  {"su", 6},     {"deepseek_yarn", 5}};
constexpr std::size_t kShownRules = 10;  // the others are other people's names of these

Scaling empty_rule(std::size_t index) {
  switch (index) {
    case 1: return LinearScaling{};
    case 2: return NtkScaling{};
    case 3: return DynamicScaling{};
    case 4: return QwenNtkScaling{};
    case 5: return YarnScaling{};
    case 6: return LongRopeScaling{};
    case 7: return Llama3Scaling{};
    case 8: return ProportionalScaling{};
    case 9: return FactorListScaling{};
    default: return {};
  }
}

void write(const Slot& slot, const Assignment& given) {
  if (auto* const* number = std::get_if<double*>(&slot)) {
    **number = finite_number(given);
  } else if (auto* const* optional = std::get_if<std::optional<double>*>(&slot)) {
    **optional = is_none(given) ? std::nullopt : std::optional(finite_number(given));
    // 0 is how Hugging Face's code reads an absent beta.
    const std::string_view name = parameter_name(given.word);
    if ((name == "beta_fast" || name == "beta_slow") && *optional && ***optional == 0) **optional = std::nullopt;
  } else if (auto* const* whole = std::get_if<std::int64_t*>(&slot)) {
    **whole = whole_number(given, 1, kMaxPosition);
  } else if (auto* const* flag = std::get_if<bool*>(&slot)) {
    **flag = truth(given);
  } else if (auto* const* list = std::get_if<std::vector<double>*>(&slot)) {
    **list = number_list(given);
  }
}

std::string parameters_of(const Slots& all) {
  std::vector<std::string_view> names;
  for (const Named& one : all) names.push_back(one.name == kOriginal ? "original" : one.name);
  return names.empty() ? "no parameters" : joined(names, ", ");
}

const Assignment* given_for(std::span<const Assignment> parameters, std::string_view name) {
  const Assignment* found = nullptr;
  for (const Assignment& one : parameters) {
    if (parameter_name(one.word) == name) found = &one;
  }
  return found;
}

void refuse_missing(const Assignment& rule, std::string_view name) {
  refuse(rule, formatted("have {}=... behind it, which the rule needs,", name == kOriginal ? "original" : name),
         "without it");
}

// A field below rotate/R/scaling and whence it comes.
struct RuleSource {
  std::string field;
  std::string from;
};
struct NewRule {
  Scaling scaling;
  std::vector<RuleSource> sources;
};

// original_max_position_embeddings beside the rule's dictionary stays when the dictionary is another.
bool stands_beside(std::string_view from) {
  if (!from.starts_with('/') || !from.ends_with(kOriginal)) return false;
  const std::string_view parent = from.substr(0, from.rfind('/'));
  return parent.find("rope_") == std::string_view::npos;
}

const std::int64_t* original_of(Scaling& scaling) {
  for (const Named& one : slots_of(scaling)) {
    if (one.name == kOriginal) return std::get<std::int64_t*>(one.slot);
  }
  return nullptr;
}

double stretch(const Plan& plan, std::int64_t original) {
  return static_cast<double>(*plan.trained_length) / static_cast<double>(original);
}

class RuleMaker {
 public:
  RuleMaker(const StackEdit& edit, const Assignment& rule, std::span<const Assignment> parameters)
      : edit_(edit),
        rule_(rule),
        parameters_(parameters),
        index_(index_of_rule(rule)),
        original_sources_(sources_of_field(edit.plan, edit.at, formatted("rotate/0/scaling/{}", kOriginal))) {
    check_parameters();
  }

  // For one layer, whose rule was `old`.
  NewRule made(std::size_t place, Scaling old) const {
    NewRule out{.scaling = empty_rule(index_), .sources = {{"rule", set_by(rule_)}}};
    Slots all = slots_of(out.scaling);
    for (const Named& one : all) {
      const Assignment* const given = given_for(parameters_, one.name);
      if (given == nullptr) continue;
      write(one.slot, *given);
      // The member's own name in a plan's JSON.
      const bool is_dynamic = index_ == kDynamic && one.name == kOriginal;
      out.sources.push_back({std::string(is_dynamic ? "max_position_embeddings" : one.name), set_by(*given)});
    }
    add_original(place, old, out);
    add_factor(out);
    add_attention_factor(out);
    for (const std::string_view name : required()) {
      if (given_for(parameters_, name) == nullptr) refuse_missing(rule_, name);
    }
    return out;
  }

 private:
  static constexpr std::size_t kDynamic = 3;
  static constexpr std::size_t kYarn = 5;
  static constexpr std::size_t kLongRope = 6;

  static std::size_t index_of_rule(const Assignment& rule) {
    if (is_none(rule)) return 0;
    const auto* const found = std::ranges::find(kRuleWords, rule.value, &RuleName::name);
    if (found != std::end(kRuleWords)) return found->index;
    (void)choice(rule, rule_names());  // throws, and names the nearest
    return 0;
  }

  void check_parameters() const {
    Scaling scaling = empty_rule(index_);
    const Slots all = slots_of(scaling);
    for (const Assignment& one : parameters_) {
      if (std::ranges::find(all, parameter_name(one.word), &Named::name) != all.end()) continue;
      if (index_ == kDynamic && one.word == "alpha") {
        refuse(one, "be a parameter of dynamic (factor, original)", "alpha; that rule is rope_scaling=ntk");
      }
      refuse(one, formatted("be a parameter of {} ({})", rule_.value, parameters_of(all)), "none of them");
    }
  }

  std::vector<std::string_view> required() const {
    switch (index_) {
      case 1:
      case kDynamic: return {"factor"};
      case 2: return {"alpha"};
      case 4: return {"seq_length"};
      case kLongRope: return {"short_factor", "long_factor"};
      case 7: return {"factor", "low_freq_factor", "high_freq_factor"};
      case 9: return {"factors"};
      default: return {};
    }
  }

  void add_original(std::size_t place, Scaling& old, NewRule& out) const {
    Slots all = slots_of(out.scaling);
    const auto slot = std::ranges::find(all, kOriginal, &Named::name);
    if (slot == all.end() || given_for(parameters_, kOriginal) != nullptr) return;
    std::int64_t& original = *std::get<std::int64_t*>(slot->slot);
    const std::string field = index_ == kDynamic ? "max_position_embeddings" : std::string(kOriginal);
    const std::int64_t* const before = original_of(old);
    if (before != nullptr && index_ != kDynamic && stands_beside(original_sources_[place])) {
      original = *before;
      out.sources.push_back({field, original_sources_[place]});
      return;
    }
    if (!edit_.plan.trained_length) refuse_missing(rule_, kOriginal);
    original = *edit_.plan.trained_length;
    out.sources.push_back({field, "default: the trained length"});
  }

  void add_factor(NewRule& out) const {
    if ((index_ != kYarn && index_ != kLongRope) || given_for(parameters_, "factor") != nullptr) return;
    if (!edit_.plan.trained_length) refuse_missing(rule_, "factor");
    const std::int64_t original = *original_of(out.scaling);
    Slots all = slots_of(out.scaling);
    *std::get<double*>(std::ranges::find(all, "factor", &Named::name)->slot) = stretch(edit_.plan, original);
    out.sources.push_back({"factor", formatted("default: {} / {}", *edit_.plan.trained_length, original)});
  }

  void add_attention_factor(NewRule& out) const {
    auto* const yarn = std::get_if<YarnScaling>(&out.scaling);
    if (yarn == nullptr || yarn->attention_factor || edit_.family == nullptr) return;
    yarn->attention_factor = edit_.family->yarn_attention_factor;
    if (yarn->attention_factor) out.sources.push_back({"attention_factor", family_default(*edit_.family)});
  }

  const StackEdit& edit_;
  const Assignment& rule_;
  std::span<const Assignment> parameters_;
  std::size_t index_;
  std::vector<std::string> original_sources_;
};

// A list is copied into each layer: memory must not follow what few words say.
void check_lists(const StackEdit& edit, std::span<const Assignment> parameters, std::size_t layers) {
  for (const Assignment& one : parameters) {
    if (!one.value.starts_with('[')) continue;
    const auto numbers = static_cast<std::int64_t>(number_list(one).size());
    if (numbers <= kMaxListEntries / static_cast<std::int64_t>(2 * std::max<std::size_t>(layers, 1))) continue;
    refuse(one,
           formatted("have at most {} numbers for all of {}'s layers together", kMaxListEntries / 2, edit.stack().name),
           formatted("{} numbers x {} layers", numbers, layers));
  }
}

// The number x with x * multiplier == scale in doubles: 1/sqrt(head_dim) where it is that, else the quotient or one of
// its neighbours, as the product was rounded.
double without(double scale, double multiplier, std::int64_t head_dim) {
  const double root = 1 / std::sqrt(static_cast<double>(head_dim));
  if (root * multiplier == scale) return root;
  const double quotient = scale / multiplier;
  for (const double near :
       {quotient, std::nextafter(quotient, 0.0), std::nextafter(quotient, std::numeric_limits<double>::infinity())}) {
    if (near * multiplier == scale) return near;
  }
  return quotient;
}

double multiplier_of(const Scaling& scaling) {
  const auto* const rule = std::get_if<YarnScaling>(&scaling);
  const bool is_sound = rule != nullptr && rule->factor > 0 && rule->mscale_all_dim.value_or(0) >= 0;
  return is_sound ? softmax_multiplier(scaling) : 1.0;  // what is not sound is refused when the plan is whole
}

// The layers whose softmax scale is another after their rule changed from `old`.
void follow_softmax(const StackEdit& edit, std::size_t place, const Scaling& old, std::vector<std::size_t>& changed) {
  LayerPlan& layer = edit.layer(place);
  const bool has_no_multiplier = edit.architecture != nullptr && edit.architecture->log_multiplier == 0;
  if (!is_latent(edit, layer) || has_no_multiplier) return;
  const double before = multiplier_of(old);
  const double after = multiplier_of(rope(layer.rotate.front()).scaling);
  if (before == after) return;
  layer.softmax_scale = without(layer.softmax_scale, before, layer.head_dim) * after;
  changed.push_back(place);
}

// Ministral 3's query scale counts in the original length of the rule, which comes from there.
void follow_query_scale(const StackEdit& edit, std::int64_t original, const std::string& from,
                        std::span<const std::size_t> layers) {
  if (edit.family == nullptr || edit.family->query_scaling != QueryScaling::beta) return;
  std::vector<std::size_t> changed;
  for (const std::size_t place : layers) {
    auto* const scale = std::get_if<MinistralTemperature>(&edit.layer(place).query_scale);
    if (scale == nullptr) continue;
    scale->original_max_position_embeddings = original;
    changed.push_back(place);
  }
  replace_source(edit.plan, edit.at, changed, formatted("query_scale/{}", kOriginal), from);
}

void follow_query_scale(const StackEdit& edit, const Assignment& original, std::span<const std::size_t> layers) {
  follow_query_scale(edit, whole_number(original, 1, kMaxPosition), set_by(original), layers);
}

// Which layers have which source, so that each is told once.
struct SharedSource {
  std::string field;
  std::string from;
  std::vector<std::size_t> layers;
};

void share(std::vector<SharedSource>& all, std::string field, const std::string& from, std::size_t layer) {
  auto known = std::ranges::find_if(
      all, [&](const SharedSource& source) { return source.field == field && source.from == from; });
  if (known == all.end()) known = all.insert(all.end(), {std::move(field), from, {}});
  known->layers.push_back(layer);
}

void tell(const StackEdit& edit, const std::vector<SharedSource>& all) {
  for (const SharedSource& source : all) replace_source(edit.plan, edit.at, source.layers, source.field, source.from);
}

constexpr std::string_view kScaleFollows = "default: g(factor, mscale_all_dim)^2 / sqrt(head_dim)";

}  // namespace

std::size_t set_rule(const StackEdit& edit, const Assignment& rule, std::span<const Assignment> parameters) {
  const std::vector<std::size_t> layers = rotating_layers(edit, "scaling");
  const RuleMaker maker(edit, rule, parameters);
  check_lists(edit, parameters, layers.size());
  std::vector<SharedSource> sources;
  std::vector<std::size_t> scaled;
  std::size_t most = 0;
  for (const std::size_t place : layers) {
    LayerPlan& layer = edit.layer(place);
    const Scaling old = rope(layer.rotate.front()).scaling;
    const NewRule made = maker.made(place, old);
    for (std::size_t r = 0; r < layer.rotate.size(); ++r) {
      Rope& scheme = mutable_rope(layer.rotate[r]);
      // p-RoPE counts its pairs over the whole head, and leaves those past its part alone.
      if (std::holds_alternative<ProportionalScaling>(made.scaling) && scheme.first_channel == 0) {
        scheme.dim = scheme.head_dim;
      }
      scheme.scaling = made.scaling;
      for (const RuleSource& source : made.sources) {
        share(sources, formatted("rotate/{}/scaling/{}", r, source.field), source.from, place);
      }
    }
    most = std::max(most, layer.rotate.size());
    follow_softmax(edit, place, old, scaled);
  }
  for (std::size_t r = 0; r < most; ++r) {
    forget_sources(edit.plan, edit.at, layers, formatted("rotate/{}/scaling", r));
  }
  tell(edit, sources);
  replace_source(edit.plan, edit.at, scaled, "softmax_scale", std::string(kScaleFollows));
  if (const Assignment* const original = given_for(parameters, kOriginal)) {
    follow_query_scale(edit, *original, layers);
    return layers.size();
  }
  for (const SharedSource& source : sources) {
    if (source.field != formatted("rotate/0/scaling/{}", kOriginal)) continue;
    Scaling& made = mutable_rope(edit.layer(source.layers.front()).rotate.front()).scaling;
    follow_query_scale(edit, *original_of(made), source.from, source.layers);
  }
  return layers.size();
}

std::size_t set_parameter(const StackEdit& edit, const Assignment& assignment) {
  const std::string_view name = parameter_name(assignment.word);
  std::vector<std::size_t> layers = rotating_layers(edit, "scaling");
  std::erase_if(layers, [&](std::size_t place) {
    Slots all = slots_of(mutable_rope(edit.layer(place).rotate.front()).scaling);
    return std::ranges::find(all, name, &Named::name) == all.end();
  });
  check_lists(edit, std::span(&assignment, 1), layers.size());
  const std::vector<std::string> factors = sources_of_field(edit.plan, edit.at, "rotate/0/scaling/factor");
  std::vector<SharedSource> sources;
  std::vector<std::size_t> scaled;
  for (const std::size_t place : layers) {
    LayerPlan& layer = edit.layer(place);
    const Scaling old = rope(layer.rotate.front()).scaling;
    for (std::size_t r = 0; r < layer.rotate.size(); ++r) {
      Scaling& scaling = mutable_rope(layer.rotate[r]).scaling;
      Slots all = slots_of(scaling);
      const auto slot = std::ranges::find(all, name, &Named::name);
      if (slot == all.end()) continue;
      write(slot->slot, assignment);
      const bool is_dynamic = std::holds_alternative<DynamicScaling>(scaling) && name == kOriginal;
      const std::string below = formatted("rotate/{}/scaling/", r);
      share(sources, below + std::string(is_dynamic ? "max_position_embeddings" : name), set_by(assignment), place);
      // A factor that nobody gave is how far the model was stretched.
      if (is_dynamic || name != kOriginal || !factors[place].starts_with("default: ") || !edit.plan.trained_length)
        continue;
      const std::int64_t original = *original_of(scaling);
      *std::get<double*>(std::ranges::find(all, "factor", &Named::name)->slot) = stretch(edit.plan, original);
      share(sources, below + "factor", formatted("default: {} / {}", *edit.plan.trained_length, original), place);
    }
    follow_softmax(edit, place, old, scaled);
  }
  tell(edit, sources);
  replace_source(edit.plan, edit.at, scaled, "softmax_scale", std::string(kScaleFollows));
  if (name == kOriginal) follow_query_scale(edit, assignment, layers);
  return layers.size();
}

std::span<const std::string_view> parameter_words() noexcept { return kParameters; }

std::span<const std::string_view> rule_names() noexcept {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kShownRules> names{};
    for (std::size_t i = 0; i < kShownRules; ++i) names[i] = kRuleWords[i].name;
    return names;
  }();
  return kNames;
}

bool is_parameter(std::string_view word) noexcept {
  return std::ranges::find(kParameters, parameter_name(word)) != kParameters.end() || word == "partial_rotary_factor";
}

std::string_view parameter_name(std::string_view word) noexcept {
  const auto* const alias = std::ranges::find(kAliases, word, &Alias::also);
  return alias == std::end(kAliases) ? word : alias->name;
}

}  // namespace posenc::plan
