// override_plan: settings one by one, each word to the function that knows it; then the plan is checked as a whole.
#include "posenc/override_plan.h"

#include <algorithm>
#include <utility>

#include "base/formatted.h"
#include "plan/assemble/plan_numbers.h"
#include "plan/facts/plan_limits.h"
#include "plan/json/plan_names.h"
#include "plan/override/override.h"

namespace posenc::plan {
namespace {

constexpr std::size_t kMostSettings = 1024;
constexpr std::string_view kRuleWord = "rope_scaling";
constexpr std::string_view kLengthWord = "trained_length";

bool is_rule_word(std::string_view word) { return word == kRuleWord || word == "rope_type" || word == "scaling"; }
bool is_length_word(std::string_view word) { return word == kLengthWord || word == "max_position_embeddings"; }

// partial_rotary_factor is a number of p-RoPE alone; beside another rule it is a word of its own, as partial.
bool belongs_to_rule(const Assignment& rule, const Assignment& one) {
  if (one.word == "partial_rotary_factor") return rule.value == "proportional";
  return is_parameter(one.word);
}

const LayerWord* find_word(std::string_view word) {
  for (const std::span<const LayerWord> words : {rope_words(), layer_words()}) {
    for (const LayerWord& known : words) {
      if (known.word == word || (!known.also.empty() && known.also == word)) return &known;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse_unknown(const Assignment& assignment) {
  std::vector<std::string_view> names{kRuleWord};
  for (const std::span<const LayerWord> words : {rope_words(), layer_words()}) {
    for (const LayerWord& known : words) names.push_back(known.word);
  }
  names.push_back(kLengthWord);
  const std::size_t words = names.size();
  const std::span<const std::string_view> parameters = parameter_words();
  names.insert(names.end(), parameters.begin(), parameters.end());
  const std::string near = did_you_mean(assignment.word, names);
  if (!near.empty()) refuse(assignment, "be of a known word", "of another" + near);
  refuse(assignment,
         formatted("be of a known word ({}, or a parameter of the rule: {})",
                   joined(std::span(names).first(words), ", "), joined(parameters, ", ")),
         "of another");
}

// ---- what there is, where a setting would be without effect ----

std::string layers_meant(const Which& which) {
  switch (which.layers) {
    case LayerChoice::by_rule: return "the layers that this word is for";
    case LayerChoice::all: return "any layer that attends";
    case LayerChoice::full: return "any full layer";
    case LayerChoice::sliding: return "any sliding layer";
    case LayerChoice::cross: return "any layer of cross attention";
    case LayerChoice::numbers: break;
  }
  return formatted("any of the layers {}", which.text);
}

[[noreturn]] void refuse_without_effect(const Plan& plan, const std::vector<std::size_t>& stacks, const Which& which,
                                        const Assignment& assignment, std::string_view thing) {
  std::string there;
  for (const std::size_t at : stacks) {
    const Stack& stack = plan.stacks[at];
    there += formatted("{}{}: {}", there.empty() ? "" : "; ", stack.name, settable(stack));
  }
  refuse(assignment, formatted("set what {} has", layers_meant(which)),
         formatted("without effect: none has {} (there is: {})", thing, there));
}

// ---- one setting ----

class Carrier {
 public:
  Carrier(Plan& plan, const Plan& before) : plan_(plan), before_(before) {}

  void carry_out(const Override& setting) {
    const std::vector<Assignment>& all = setting.assignments;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Assignment& one = all[i];
      if (is_length_word(one.word)) {
        set_length(setting.which, one);
      } else if (is_rule_word(one.word)) {
        std::size_t end = i + 1;
        while (end < all.size() && belongs_to_rule(one, all[end])) ++end;
        const std::span parameters(all.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   all.begin() + static_cast<std::ptrdiff_t>(end));
        in_stacks(setting.which, one, "a rotation",
                  [&](const StackEdit& edit) { return set_rule(edit, one, parameters); });
        i = end - 1;
      } else if (const LayerWord* word = find_word(one.word)) {
        in_stacks(setting.which, one, word->thing, [&](const StackEdit& edit) { return word->set(edit, one); });
      } else if (is_parameter(one.word)) {
        in_stacks(setting.which, one, formatted("a rule with {}", parameter_name(one.word)),
                  [&](const StackEdit& edit) { return set_parameter(edit, one); });
      } else {
        refuse_unknown(one);
      }
    }
  }

 private:
  template <typename Work>
  void in_stacks(const Which& which, const Assignment& one, std::string_view thing, const Work& work) {
    const std::vector<std::size_t> stacks = chosen_stacks(plan_, which, one);
    std::size_t changed = 0;
    for (const std::size_t at : stacks) {
      changed += work(StackEdit{.plan = plan_,
                                .before = before_,
                                .at = at,
                                .which = which,
                                .family = family_of(before_, at),
                                .architecture = architecture_of(before_, at)});
    }
    if (changed == 0) refuse_without_effect(plan_, stacks, which, one, thing);
  }

  // The length that dynamic NTK counts from, and the factor of YaRN and LongRoPE where nobody gave one.
  void set_length(const Which& which, const Assignment& one) {
    if (!which.text.empty())
      refuse(one, "be for the whole plan, without layers before it,",
             formatted("for {}", Assignment{which.text, ""}.shown()));
    const std::int64_t length = whole_number(one, 1, kMaxPosition);
    for (const std::size_t at : chosen_stacks(plan_, which, one)) refuse_fixed_length(plan_.stacks[at], one);
    const std::optional<std::int64_t> old = std::exchange(plan_.trained_length, length);
    std::erase_if(plan_.sources, [](const ValueSource& source) { return source.where == "/trained_length"; });
    plan_.sources.push_back({"/trained_length", set_by(one)});
    for (const std::size_t at : chosen_stacks(plan_, which, one)) {
      follow_length(at, length, one);
      follow_sequence_length(at, old, length, one);
      follow_windows(at, length, one);
    }
  }

  // A learned table has so many rows, and DeBERTa's buckets end there.
  static void refuse_fixed_length(const Stack& stack, const Assignment& one) {
    const bool table = std::ranges::any_of(
        stack.input, [](const InputScheme& input) { return std::holds_alternative<LearnedInput>(input); });
    const bool buckets = std::ranges::any_of(stack.layers, [](const LayerPlan& layer) {
      return std::ranges::any_of(layer.score,
                                 [](const ScoreTerm& term) { return std::holds_alternative<Deberta>(term); });
    });
    if (!table && !buckets) return;
    refuse(one, "be for a model without learned tables of that length",
           formatted("for one whose {} has one", stack.name));
  }

  // Qwen 1's rule and its query scale count in the length that the model is for: seq_length is both.
  void follow_sequence_length(std::size_t at, std::optional<std::int64_t> old, std::int64_t length,
                              const Assignment& one) {
    std::vector<std::size_t> ruled;
    std::vector<std::size_t> scaled;
    for (std::size_t place = 0; old && place < plan_.stacks[at].layers.size(); ++place) {
      LayerPlan& layer = plan_.stacks[at].layers[place];
      for (Rotate& rotate : layer.rotate) {
        auto* const rule = std::get_if<QwenNtkScaling>(&mutable_rope(rotate).scaling);
        if (rule == nullptr || rule->seq_length != *old) continue;
        rule->seq_length = length;
        if (ruled.empty() || ruled.back() != place) ruled.push_back(place);
      }
      auto* const scale = std::get_if<LogNScale>(&layer.query_scale);
      if (scale == nullptr || scale->seq_length != *old) continue;
      scale->seq_length = length;
      scaled.push_back(place);
    }
    replace_source(plan_, at, ruled, "rotate/0/scaling/seq_length", set_by(one));
    replace_source(plan_, at, scaled, "query_scale/seq_length", set_by(one));
  }

  // A window that covers all that the model is for is none, as where it is read.
  void follow_windows(std::size_t at, std::int64_t length, const Assignment& one) {
    std::vector<std::size_t> covered;
    for (std::size_t place = 0; place < plan_.stacks[at].layers.size(); ++place) {
      std::optional<Window>& window = plan_.stacks[at].layers[place].mask.window;
      if (!window || window->past < length - 1) continue;
      window.reset();
      covered.push_back(place);
    }
    if (covered.empty()) return;
    replace_source(plan_, at, covered, "mask/window", set_by(one));
    plan_.warnings.push_back(
        {.code = "window-covers-length",
         .message = formatted("Windows cover the {} tokens that the model is for; taken as none.", length),
         .keys = {}});
  }

  void follow_length(std::size_t at, std::int64_t length, const Assignment& one) {
    const std::vector<std::string> factors = sources_of_field(plan_, at, "rotate/0/scaling/factor");
    std::vector<std::size_t> dynamic;
    std::size_t rotations = 0;
    for (std::size_t place = 0; place < factors.size(); ++place) {
      for (Rotate& rotate : plan_.stacks[at].layers[place].rotate) {
        Scaling& scaling = mutable_rope(rotate).scaling;
        rotations = std::max(rotations, plan_.stacks[at].layers[place].rotate.size());
        if (auto* rule = std::get_if<DynamicScaling>(&scaling)) {
          rule->max_position_embeddings = length;
          if (dynamic.empty() || dynamic.back() != place) dynamic.push_back(place);
        }
        if (!factors[place].starts_with("default: ")) continue;
        if (auto* yarn = std::get_if<YarnScaling>(&scaling)) {
          yarn->factor = static_cast<double>(length) / static_cast<double>(yarn->original_max_position_embeddings);
        } else if (auto* longrope = std::get_if<LongRopeScaling>(&scaling)) {
          longrope->factor =
              static_cast<double>(length) / static_cast<double>(longrope->original_max_position_embeddings);
        }
      }
    }
    for (std::size_t r = 0; r < rotations; ++r) {
      replace_source(plan_, at, dynamic, formatted("rotate/{}/scaling/max_position_embeddings", r), set_by(one));
    }
  }

  Plan& plan_;
  const Plan& before_;
};

// ---- the whole ----

void check_whole(const Plan& plan) {
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) {
        const auto problem = check(rope(rotate), plan.length);
        if (!problem) continue;
        throw Error("override_plan", {formatted("{} of {}, layer {},", problem->field, stack.name, layer.index),
                                      problem->must, problem->is});
      }
    }
  }
  if (const auto unusable = unusable_number(plan)) {
    throw Error("override_plan", {formatted("the plan ({})", unusable->detail),
                                  formatted("have {}", unusable->expected), formatted("one with {}", unusable->got)});
  }
}

}  // namespace

std::string settable(const Stack& stack) {
  std::vector<std::string> things;
  const auto add = [&](std::string thing) {
    if (std::ranges::find(things, thing) == things.end()) things.push_back(std::move(thing));
  };
  for (const LayerPlan& layer : stack.layers) {
    if (layer.kind != LayerKind::attention && layer.kind != LayerKind::cross_attention) continue;
    if (!layer.rotate.empty()) {
      add("base");
      const std::string_view rule = kind_name(rope(layer.rotate.front()).scaling);
      add(formatted("rope_scaling ({})", rule.empty() ? "none" : rule));
    }
    if (layer.mask.window) add("window");
    if (layer.mask.chunk) add("chunk");
    if (layer.soft_cap) add("soft_cap");
    if (layer.sinks) add("sinks");
    if (layer.qk_norm) add("qk_norm");
    if (!std::holds_alternative<std::monostate>(layer.query_scale)) add("query_scale");
    add("scale");
    add("mask");
    add("kv_heads");
  }
  return things.empty() ? "nothing that can be set" : joined(things, ", ");
}

}  // namespace posenc::plan

namespace posenc::inline v0_2 {

Plan override_plan(const Plan& plan, std::span<const std::string> settings) {
  if (settings.size() > plan::kMostSettings) {
    throw Error("override_plan",
                {"settings", formatted("be at most {}", plan::kMostSettings), formatted("{}", settings.size())});
  }
  Plan out = plan;
  plan::Carrier carrier(out, plan);
  for (const std::string& setting : settings) carrier.carry_out(plan::parse_override(setting));
  if (!settings.empty()) plan::check_whole(out);
  return out;
}

}  // namespace posenc::inline v0_2
