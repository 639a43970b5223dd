// Two rotations or masks of one model, told by who reads: what they are to short texts and to long ones, and whether
// the difference hurts.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/formatted.h"
#include "plan/compare/compare.h"
#include "report/parts.h"

namespace posenc::report {

Sides sides_of(const Rope& a, const Rope& b) {
  if (a.base != b.base || (is_stretched(a) == is_stretched(b) && rule_name(a) == rule_name(b))) return {};
  if (!is_stretched(a) && !is_stretched(b)) return {};
  if (!is_stretched(a)) return {formatted("without {}", rule_name(b)), formatted("with {}", rule_name(b))};
  if (!is_stretched(b)) return {formatted("with {}", rule_name(a)), formatted("without {}", rule_name(a))};
  return {formatted("with {}", rule_name(a)), formatted("with {}", rule_name(b))};
}

namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

// Layers that differ.
struct Pair {
  const LayerPlan* a = nullptr;
  const LayerPlan* b = nullptr;
  const Rope* rope_a = nullptr;  // null: both rotate alike, or not at all
  const Rope* rope_b = nullptr;
  bool is_mask_other = false;
};

std::int64_t seen_of_text(const LayerPlan& layer) { return span_of(layer, kUnbounded); }

class ByReader {
 public:
  ByReader(const Plan& a, const Plan& b, const ReportOptions& options)
      : a_(a),
        b_(b),
        of_a_(lengths_of(a, options.length)),
        of_b_(lengths_of(b, options.length)),
        length_(std::max(of_a_.target, of_b_.target)) {}

  std::vector<ByLength> take() {
    if (!find() || pairs_.empty()) return {};
    name_sides();
    short_ = shorter();
    std::vector<ByLength> out;
    out.push_back({formatted("Short texts (up to {} tokens)", std::min(short_, length_)), of_short()});
    if (length_ > short_) {
      out.push_back({formatted("Long texts ({} to {} tokens)", short_ + 1, length_), of_long()});
    } else {
      out.push_back({"Long texts", formatted("not looked at: {} tokens are not beyond {}. A longer --length asks.",
                                             length_, short_)});
    }
    return out;
  }

 private:
  // False where layers cannot be told side by side: other channels rotate, or other terms are added.
  bool find() {
    for (const plan::StackPair& stacks : plan::paired_stacks(a_, b_)) {
      if (stacks.a == nullptr || stacks.b == nullptr) return false;
      if (stacks.a->input != stacks.b->input || !stacks.a->known || !stacks.b->known) return false;
      for (const plan::LayerPair& layers : plan::paired_layers(stacks)) {
        if (layers.a == nullptr || layers.b == nullptr || !add(*layers.a, *layers.b)) return false;
      }
    }
    return true;
  }

  bool add(const LayerPlan& a, const LayerPlan& b) {
    if (a.kind != b.kind || a.score != b.score || a.rotate.size() != b.rotate.size()) return false;
    Pair pair{.a = &a, .b = &b, .rope_a = nullptr, .rope_b = nullptr, .is_mask_other = a.mask != b.mask};
    const Rotate* const rotate_a = main_rotation(a);
    const Rotate* const rotate_b = main_rotation(b);
    if ((rotate_a == nullptr) != (rotate_b == nullptr)) return false;
    if (rotate_a != nullptr) {
      const Rope& of_a = rope(*rotate_a);
      const Rope& of_b = rope(*rotate_b);
      Rope as_b = of_a;
      as_b.base = of_b.base;
      as_b.scaling = of_b.scaling;
      if (as_b != of_b || rotate_a->offset != rotate_b->offset ||
          rotate_a->scheme.index() != rotate_b->scheme.index() || !is_rotated_by_time(of_a)) {
        if (of_a != of_b) return false;
      }
      if (of_a != of_b) {
        pair.rope_a = &of_a;
        pair.rope_b = &of_b;
      }
    }
    if (pair.rope_a != nullptr || pair.is_mask_other) pairs_.push_back(pair);
    return true;
  }

  // The same names for all rotations, or those that always hold.
  void name_sides() {
    std::optional<Sides> found;
    for (const Pair& pair : pairs_) {
      if (pair.rope_a == nullptr) continue;
      const Sides of = sides_of(*pair.rope_a, *pair.rope_b);
      if (found && (found->a != of.a || found->b != of.b)) return;
      found = of;
    }
    if (found) sides_ = *found;
  }

  std::optional<std::int64_t> before(const Rope& rope, const Lengths& lengths) const {
    return length_before_scaling(rope, lengths.trained);
  }

  // What both were made for: the shorter length before scaling, and what the narrower mask shows.
  std::int64_t shorter() const {
    std::int64_t out = kUnbounded;
    for (const Pair& pair : pairs_) {
      if (pair.rope_a != nullptr) {
        for (const auto& known : {before(*pair.rope_a, of_a_), before(*pair.rope_b, of_b_)}) {
          if (known) out = std::min(out, *known);
        }
      }
      if (pair.is_mask_other) out = std::min({out, seen_of_text(*pair.a), seen_of_text(*pair.b)});
    }
    if (out == kUnbounded) out = std::min(of_a_.trained.value_or(length_), of_b_.trained.value_or(length_));
    return out;
  }

  // Of all rotations that differ the one that changes most pairs at that length.
  std::optional<Slowing> changed(std::int64_t length) const {
    std::optional<Slowing> out;
    for (const Pair& pair : pairs_) {
      if (pair.rope_a == nullptr) continue;
      const Slowing now = slowing(frequencies_at(*pair.rope_a, length), frequencies_at(*pair.rope_b, length));
      if (now.changes_nothing()) continue;
      if (!out || now.pairs - now.alike > out->pairs - out->alike) out = now;
    }
    return out;
  }

  // Masks that show something else within that many tokens.
  const Pair* masked(std::int64_t length) const {
    const auto found = std::ranges::find_if(pairs_, [&](const Pair& pair) {
      return pair.is_mask_other &&
             (pair.a->mask.kind != pair.b->mask.kind || pair.a->mask.detail != pair.b->mask.detail ||
              pair.a->mask.chunk != pair.b->mask.chunk || span_of(*pair.a, length) != span_of(*pair.b, length));
    });
    return found == pairs_.end() ? nullptr : &*found;
  }

  std::string of_short() const {
    const std::int64_t length = std::min(short_, length_);
    const std::optional<Slowing> change = changed(length);
    const bool is_mask_other = masked(length) != nullptr;
    if (!change && !is_mask_other) return "nothing changes.";
    std::string text;
    if (change) text = words(*change) + hurt(*change);
    if (is_mask_other) text += (text.empty() ? "" : " ") + mask_words(*masked(length));
    return text;
  }

  std::string words(const Slowing& change) const {
    std::string text = change.alike == change.pairs ? formatted("all {} pairs turn alike", change.pairs)
                                                    : formatted("{} of {} pairs turn otherwise {}",
                                                                change.pairs - change.alike, change.pairs, sides_.b);
    if (change.most > 1.0) text += formatted(", up to {:.4g} times slower", change.most);
    if (change.least < 1.0) {
      text += formatted("{} up to {:.4g} times faster", change.most > 1.0 ? " or" : ",", 1.0 / change.least);
    }
    if (change.of_scores != 1.0) text += formatted(", and scores are multiplied by {:.4g}", change.of_scores);
    return text + ". ";
  }

  // Of weights that know one of the two.
  static std::string hurt(const Slowing& change) {
    if (turn_alike(change.fastest, 1.0)) {
      return "This hurts a little: weights that were trained with the one lose somewhat under the other, until they "
             "are "
             "trained with it. The fastest pair is as it was, so neighbours are told apart as before.";
    }
    return formatted(
        "This hurts: weights that were trained with the one see neighbours {:.3g} times {} apart under the "
        "other, until they are trained with it.",
        change.fastest > 1.0 ? change.fastest : 1.0 / change.fastest, change.fastest > 1.0 ? "less" : "further");
  }

  static std::string mask_words(const Pair& pair) {
    return formatted(
        "Queries {} in the first, and {} in the second: this hurts weights that were trained with the "
        "other, by what they no longer see or never saw so far away.",
        seen(*pair.a), seen(*pair.b));
  }

  // Pairs beyond what they met in training, the most of any layer, and of how many; nothing where no file says.
  struct Beyond {
    std::size_t unseen = 0;
    std::int64_t pairs = 0;
    std::optional<std::int64_t>
        own{};  // length of the file, where that is long enough: its weights should know all angles
  };
  std::optional<Beyond> beyond(bool is_b) const {
    Beyond out;
    const std::optional<std::int64_t> own = (is_b ? of_b_ : of_a_).trained;
    if (own && *own >= length_ && !is_rule_set(is_b ? b_ : a_)) return Beyond{.own = own};
    for (const Pair& pair : pairs_) {
      if (pair.rope_a == nullptr) continue;
      const Rope& rope = is_b ? *pair.rope_b : *pair.rope_a;
      const Lengths lengths{.trained = (is_b ? of_b_ : of_a_).trained, .target = length_};
      const Reach reach = reach_of(rope, lengths, is_b ? *pair.b : *pair.a);
      if (!reach.before) return {};
      out.unseen = std::max(out.unseen, reach.unseen.size());
      out.pairs = std::max(out.pairs, rope.pairs());
    }
    return out;
  }

  std::string of_long() const {
    std::string text;
    if (changed(length_)) text = angles();
    if (const Pair* pair = masked(length_)) text += (text.empty() ? "" : " ") + mask_words(*pair);
    return text.empty() ? "nothing changes." : text;
  }

  std::string angles() const {
    const std::optional<Beyond> first = beyond(false);
    const std::optional<Beyond> second = beyond(true);
    if (!first && !second) return "whether pairs meet angles that they never had cannot be told of either.";
    if (first && second && first->own.has_value() == second->own.has_value() &&
        (first->unseen == 0) == (second->unseen == 0)) {
      if (first->own) {
        return "the files of both give such lengths as their own, so the weights of each should know its angles, and "
               "not "
               "the other's.";
      }
      return first->unseen == 0
                 ? "no pair of either meets angles that it never had. Which of the two hurts less is a matter of what "
                   "the weights were trained with."
                 : formatted(
                       "{} of {} pairs meet angles that they never had {}, {} {}: expect the loss to rise steeply "
                       "with both, unless the weights were trained so far.",
                       first->unseen, first->pairs, sides_.a, second->unseen, sides_.b);
    }
    return capital(one(sides_.a, first)) + " " + capital(one(sides_.b, second));
  }

  static std::string one(std::string_view side, const std::optional<Beyond>& of) {
    if (!of) return formatted("{}, whether pairs meet angles that they never had cannot be told.", side);
    if (of->own) {
      return formatted(
          "{} it should not hurt: the file gives {} tokens as its own length, so the weights should know "
          "these angles.",
          side, *of->own);
    }
    if (of->unseen > 0) {
      return formatted(
          "{} it hurts: {} of {} pairs meet angles that they never had, so expect the loss to rise steeply, unless the "
          "weights were trained so far.",
          side, of->unseen, of->pairs);
    }
    return formatted(
        "{} no pair meets new angles, so no steep rise is expected; weights that were not trained with it still lose "
        "somewhat. How much no file can say: posenc extend --evaluate measures it.",
        side);
  }

  const Plan& a_;
  const Plan& b_;
  Lengths of_a_;
  Lengths of_b_;
  std::int64_t length_;
  std::int64_t short_ = 0;
  Sides sides_;
  std::vector<Pair> pairs_;
};

}  // namespace

std::vector<ByLength> by_length(const Plan& a, const Plan& b, const ReportOptions& options) {
  return ByReader(a, b, options).take();
}

}  // namespace posenc::report
