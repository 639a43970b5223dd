// What a reader asks of one rotation: where it switches, whether longer texts hurt and why, what rounding costs.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

// Half a unit in the last place of bfloat16 below 1: what rounding a cosine to it costs at most.
constexpr double kBfloat16Rounding = 0x1p-9;
// Of cos and sin: errors up to here are called small. A judgement, not a bound.
constexpr double kSmallError = 0.05;

class OfRotation {
 public:
  OfRotation(const Rope& rope, const LayerPlan& layer, const Plan& plan, const Lengths& lengths,
             const std::string& whose)
      : rope_(rope),
        plan_(plan),
        lengths_(lengths),
        whose_(whose),
        reach_(reach_of(rope, lengths, layer)),
        far_(slowing(reach_.plain, reach_.now)) {
    if (reach_.before) near_ = slowing(reach_.plain, frequencies_at(rope, *reach_.before));
  }

  std::vector<Finding> take() {
    switches();
    if (is_rotated_by_time(rope_)) {
      is_stretched(rope_) ? stretched() : unstretched();
      tables();
    }
    return std::move(out_);
  }

 private:
  void add(std::string_view about, std::string text) { out_.push_back({about, std::move(text)}); }

  // Rules that answer otherwise from some length on.
  void switches() {
    if (const auto* list = std::get_if<LongRopeScaling>(&rope_.scaling)) {
      add("switch", formatted("at {0} tokens: texts of up to {0} take short_factor, longer ones long_factor.",
                              list->original_max_position_embeddings));
      add("switch",
          "the list holds for all tokens of a text: keys that were cached before the switch are turned by "
          "short_factor and have to be made anew.");
    }
    if (const auto* dynamic = std::get_if<DynamicScaling>(&rope_.scaling)) {
      add("switch", formatted("the base grows with the sequence from {} tokens on: keys that were cached when it was "
                              "shorter are turned by another base.",
                              dynamic->max_position_embeddings));
    }
    if (const auto* qwen = std::get_if<QwenNtkScaling>(&rope_.scaling)) {
      add("switch", formatted("the base grows in steps from {} tokens on: keys that were cached before a step are "
                              "turned by another base.",
                              qwen->seq_length));
    }
  }

  std::string at_target() const {
    return reach_.span < lengths_.target
               ? formatted("at {} tokens, of which a query{} sees {},", lengths_.target, whose_, reach_.span)
               : formatted("at {} tokens", lengths_.target);
  }

  std::string of_layers() const { return whose_.empty() ? "" : " layers" + whose_; }

  // Which of LongRoPE's lists turns texts of that length; of another rule nothing.
  std::string_view list_at(std::int64_t length) const {
    const auto* const lists = std::get_if<LongRopeScaling>(&rope_.scaling);
    if (lists == nullptr) return {};
    return length > lists->original_max_position_embeddings ? "by long_factor " : "by short_factor ";
  }

  void unstretched() {
    if (!reach_.before || reach_.span <= *reach_.before) return;
    const std::string text = formatted("will {} tokens hurt{}? ", lengths_.target, of_layers());
    if (reach_.unseen.empty()) {
      add("verdict",
          text + formatted("Not by its angles: within the trained {} tokens all {} pairs completed a turn, so "
                           "none meets new ones. Whether the loss holds beyond, only the model can say.",
                           *reach_.before, far_.pairs));
      return;
    }
    add("verdict", text + formatted("Yes: {} {} of {} pairs meet angles that they never had within the trained {} "
                                    "tokens, and no rule scales them: expect the loss to rise steeply beyond {}.",
                                    at_target(), reach_.unseen.size(), far_.pairs, *reach_.before, *reach_.before));
  }

  void stretched() {
    const bool is_longer = !reach_.before || reach_.span > *reach_.before;
    if (is_longer) {
      add("verdict", verdict());
    } else if (lengths_.target > *reach_.before) {
      add("verdict",
          formatted(
              "will {} tokens hurt{}? Not by new angles: a query{} looks no further than {} tokens, and the length "
              "before scaling is {}. Whether the loss holds so far, only the model can say.",
              lengths_.target, of_layers(), whose_, reach_.span, *reach_.before));
    }
    if (!reach_.before) {
      // Of a model that was trained so the verdict has said it.
      if (trained() != Trained::yes) {
        add("length",
            formatted("the file does not say for which length the rotation{} was trained before {} scaled it: "
                      "whether {} tokens reach beyond that cannot be told.",
                      whose_, rule_name(rope_), lengths_.target));
      }
    } else {
      const std::size_t plain = reach_.unseen_if_plain.size();
      std::string text = formatted(
          "{} {} of {} pairs{} meet angles that they never had within {} tokens, the length "
          "before scaling",
          at_target(), reach_.unseen.size(), far_.pairs, whose_, *reach_.before);
      if (plain > 0 || !reach_.unseen.empty()) {
        text += formatted("; without {} it would be {}.", rule_name(rope_), plain);
      } else if (is_longer) {
        text += "; nor would they without the rule.";
      } else {
        text += ": a query looks no further than that, so new angles are no reason for the rule.";
      }
      add("length", std::move(text));
    }
    near_tokens();
    temperature();
    if (is_longer && near_) short_texts();
  }

  // Whether texts within the length before scaling are other than without the rule.
  bool is_short_changed() const { return !near_ || !near_->changes_nothing(); }

  enum class Trained { set, yes, hardly, unclear };
  Trained trained() const {
    if (is_rule_set(plan_)) return Trained::set;
    if (lengths_.trained && *lengths_.trained >= lengths_.target) return Trained::yes;
    if (lengths_.trained && reach_.before && *lengths_.trained <= *reach_.before) return Trained::hardly;
    return Trained::unclear;
  }

  std::string why_untrained() const {
    switch (trained()) {
      case Trained::set: return "the rule was set by hand, it is not the file's";
      case Trained::hardly:
      case Trained::yes:
      case Trained::unclear:
        return lengths_.trained ? formatted("the file's own length is {} tokens", *lengths_.trained)
                                : "no file says so";
    }
    return {};
  }

  // Will it hurt? The file's own length says whether the model knows these angles.
  std::string verdict() const {
    const std::string from = reach_.before ? formatted("{} to ", *reach_.before) : std::string();
    std::string text =
        formatted("will texts of {}{} tokens, with {}, hurt{}? ", from, lengths_.target, rule_name(rope_), of_layers());
    const std::string measure =
        reach_.before
            ? formatted("in texts of {} and of {} tokens: a token's mean loss should be no higher in the longer.",
                        *reach_.before, lengths_.target)
            : formatted("in texts of {} tokens: it should not rise towards their end.", lengths_.target);
    if (trained() == Trained::yes) {
      text += formatted(
          "No, as far as the file tells: it gives {} tokens as its own length, so the model should have been trained "
          "with these angles",
          *lengths_.trained);
      text += reach_.before ? ". To be sure, measure its loss "
                            : formatted(
                                  ". Which length it had before {} the file does not say, and that no longer "
                                  "matters. To be sure, measure its loss ",
                                  rule_name(rope_));
      return text + measure;
    }
    if (!reach_.unseen.empty()) {
      text += formatted(
          "Yes: {} of {} pairs still meet angles that they never had, so expect the loss to rise steeply "
          "in long texts, unless the model was trained with them; {}.",
          reach_.unseen.size(), far_.pairs, why_untrained());
    } else {
      const bool is_near_kept = turn_alike(far_.fastest, 1.0);
      text += is_near_kept ? "A little, " : "Yes, ";
      text += is_short_changed() ? "at every length" : formatted("beyond {} tokens alone", *reach_.before);
      text += formatted(", unless the model was trained with this rule; {}. ", why_untrained());
      text += !reach_.before ? "Whether long texts meet new angles cannot be told"
              : reach_.unseen_if_plain.empty()
                  ? "Long texts meet no new angles"
                  : formatted(
                        "Long texts meet no new angles, where without the rule {} {} would and the loss would rise "
                        "steeply",
                        reach_.unseen_if_plain.size(), reach_.unseen_if_plain.size() == 1 ? "pair" : "pairs");
      text += is_near_kept ? "; neighbours are told apart as before, but "
                           : formatted("; neighbours turn {:.3g} times less apart than before, and ", far_.fastest);
      text += "the weights were trained with other angles.";
    }
    text +=
        " To mend that, papers train some hundred steps with the rule (YaRN 400, arXiv 2309.00071; linear 1000, arXiv "
        "2306.15595)";
    if (is_short_changed()) text += " and still report a slight loss in short texts";
    text += ". How large the loss is no file can say: measure it " + measure;
    if (reach_.before && is_short_changed()) text += " Of the shorter ones measure it with the rule and without.";
    return text;
  }

  // Whether the rule slows all pairs alike.
  bool is_even() const {
    for (std::size_t p = 0; p < reach_.now.inv_freq.size(); ++p) {
      if (!turn_alike(reach_.plain.inv_freq[p], far_.most * reach_.now.inv_freq[p])) return false;
    }
    return far_.most > 1.0;
  }

  // What the rule costs near tokens.
  void near_tokens() {
    const std::int64_t others = far_.pairs - far_.alike;
    if (others == 0) {
      add("near tokens",
          formatted("{}all {} pairs{} turn as before scaling.", list_at(lengths_.target), far_.pairs, whose_));
      return;
    }
    std::string text(list_at(lengths_.target));
    if (is_even()) {
      text += formatted(
          "every pair{} turns {:.3g} times slower than before scaling, also the fastest, which tells "
          "neighbours apart.",
          whose_, far_.most);
    } else {
      text += far_.alike == 0
                  ? formatted("no pair{} turns as before scaling, but up to {:.3g} times slower", whose_, far_.most)
                  : formatted("{} of {} pairs{} turn as before scaling, the other {} up to {:.3g} times slower",
                              far_.alike, far_.pairs, whose_, others, far_.most);
      text += turn_alike(far_.fastest, 1.0)
                  ? "; the fastest pair, which tells neighbours apart, is as it was."
                  : formatted("; the fastest pair, which tells neighbours apart, {:.3g} times.", far_.fastest);
    }
    if (trained() == Trained::yes && !turn_alike(far_.fastest, 1.0)) {
      text += " That would hurt weights that do not know it; these should know it.";
    }
    add("near tokens", std::move(text));
  }

  void temperature() {
    if (far_.of_scores == 1.0) return;
    add("temperature",
        formatted("scores of what rotates are multiplied by {:.4g} (attention factor {:.4g} of cos and sin): the "
                  "softmax is {}.",
                  far_.of_scores, reach_.now.attention_factor,
                  far_.of_scores > 1.0 ? "sharper, since over more keys it spreads wider" : "softer"));
  }

  void short_texts() {
    const std::string who = formatted("texts of up to {} tokens", *reach_.before);
    if (!is_short_changed()) {
      add("short texts", who + " turn as without the rule: they lose nothing.");
      return;
    }
    const std::int64_t slower = near_->pairs - near_->alike;
    const std::string scores = near_->of_scores == 1.0
                                   ? std::string()
                                   : formatted(" and their scores are multiplied by {:.4g}", near_->of_scores);
    if (frequencies_at(rope_, *reach_.before) != reach_.now) {
      add("short texts",
          formatted("{} have a rotation of their own: {}{} of {} pairs turn slower than without the rule, "
                    "up to {:.3g} times{}.",
                    who, list_at(*reach_.before), slower, near_->pairs, near_->most, scores));
      return;
    }
    add("short texts",
        formatted("{} {} as well, since {} is static here, the same whatever a text's length: {} of their {} pairs "
                  "turn slower{}. {}",
                  who, trained() == Trained::yes ? "are turned so" : "pay", rule_name(rope_), slower, near_->pairs,
                  scores,
                  trained() == Trained::yes ? "The model should have been trained so."
                  : trained() == Trained::unclear
                      ? "Whether the model was trained so no file says."
                      : "Where they matter, serve them without the rule, or use dynamic NTK, which leaves them as they "
                        "are."));
  }

  // What rounding costs, and whom.
  void tables() {
    const std::optional<TableErrors> errors = table_errors(rope_, lengths_);
    if (!errors) {
      add("tables", formatted("float32 cannot hold the frequencies{}.", whose_));
      return;
    }
    const double off = errors->float32.back();
    std::string text = formatted(
        "{}: float32 angles put cos and sin{}, at most 1, off by up to {:.2g} at position {}, tables kept in bfloat16 "
        "by up to {:.2g}",
        off <= kBfloat16Rounding ? "no harm"
        : off <= kSmallError     ? "little harm"
                                 : "much harm",
        whose_, off, lengths_.target, errors->bfloat16.back());
    if (off <= kBfloat16Rounding) {
      add("tables", text + ", whose own rounding is 0.002.");
      return;
    }
    text += off <= kSmallError ? ", where bfloat16 itself rounds by 0.002."
                               : ": neighbours near there are told apart worse. Make angles in float64.";
    std::int64_t harmless = 0;
    for (std::size_t n = 0; errors->float32[n] <= kBfloat16Rounding; ++n) harmless = errors->positions[n];
    if (harmless > 0) text += formatted(" No harm in texts of up to {} tokens.", harmless);
    add("tables", std::move(text));
  }

  const Rope& rope_;
  const Plan& plan_;
  const Lengths& lengths_;
  const std::string& whose_;
  Reach reach_;
  Slowing far_;                    // at the target length, against no rule
  std::optional<Slowing> near_{};  // at the length before scaling
  std::vector<Finding> out_;
};

}  // namespace

std::string_view rule_name(const Rope& rope) {
  static constexpr std::string_view kNames[] = {
      "",     "linear scaling", "NTK scaling",    "dynamic NTK", "Qwen's dynamic NTK",
      "YaRN", "LongRoPE",       "Llama 3's rule", "p-RoPE",      "a list of factors"};
  static_assert(std::size(kNames) == std::variant_size_v<Scaling>);
  return kNames[rope.scaling.index()];
}

bool is_rule_set(const Plan& plan) {
  return std::ranges::any_of(plan.sources, [](const ValueSource& source) {
    return source.where.find("/scaling/") != std::string::npos && source.from.starts_with("set:");
  });
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::vector<Finding> rotation_findings(const Rope& rope, const LayerPlan& layer, const Plan& plan,
                                       const Lengths& lengths, const std::string& whose) {
  return OfRotation(rope, layer, plan, lengths, whose).take();
}

}  // namespace posenc::report
