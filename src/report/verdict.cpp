// A comparison in two or three sentences: the same positions? from which length on not? what differs in practice?
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/compare/compare.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

constexpr double kAlike = 1e-3;            // of ratios and factors
constexpr std::int64_t kFirstTokens = 16;  // a length that nobody stays below
constexpr std::int64_t kBeyond = 64;       // times the length looked at: as far as a difference is searched
constexpr std::size_t kMostSentences = 3;  // about layers
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct Change {
  std::int64_t first = 2;  // tokens of the shortest sequence that differs
  bool of_mask = false;
  std::string words;
};

// Two rotations of equally many pairs, of the same channels and axes.
class Angles {
 public:
  Angles(const Rope& a, const Rope& b, double tolerance) : a_(a), b_(b), tolerance_(tolerance) {}

  // The tokens of the shortest sequence in which an angle or a factor is another; kNever up to `longest`.
  std::int64_t first(std::int64_t longest) const {
    std::int64_t same = 1;
    for (const std::int64_t length : doubling(2, std::max<std::int64_t>(longest, 2))) {
      if (!differ(length)) {
        same = length;
        continue;
      }
      std::int64_t other = length;
      while (other - same > 1) {
        const std::int64_t middle = same + (other - same) / 2;
        (differ(middle) ? other : same) = middle;
      }
      return other;
    }
    return kNever;
  }

  // "28 of 64 pairs turn alike, the others up to 4 times slower in the second; its cos and sin are 1.14 times as large"
  std::string words(std::int64_t length) const {
    const Frequencies a = frequencies_at(a_, length);
    const Frequencies b = frequencies_at(b_, length);
    const std::size_t pairs = a.inv_freq.size();
    std::size_t alike = 0;
    // Times that a pair turns slower in the second, of those that are not alike.
    double least = std::numeric_limits<double>::infinity();
    double most = 0.0;
    bool stops = false;
    for (std::size_t p = 0; p < pairs; ++p) {
      const double x = std::abs(a.inv_freq[p]);
      const double y = std::abs(b.inv_freq[p]);
      if (turn_alike(a.inv_freq[p], b.inv_freq[p])) {
        ++alike;
      } else if (x == 0.0 || y == 0.0) {
        stops = true;
      } else {
        least = std::min(least, x / y);
        most = std::max(most, x / y);
      }
    }
    std::string out = alike == 0 ? formatted("all {} pairs turn otherwise", pairs)
                                 : formatted("{} of {} pairs {} alike", alike, pairs, alike == 1 ? "turns" : "turn");
    if (alike == pairs) out = "all pairs turn alike to a thousandth";
    if (stops) out += ", some in one of the two alone";
    const bool is_one = alike == 0 && !stops && most - least < kAlike * most;  // as linear scaling has it
    const std::string up_to = std::string(alike > 0 ? "others " : "") + (is_one ? "" : "up to ");
    if (most > 1.0) out += formatted(", {}{:.4g} times slower", up_to, most);
    if (least < 1.0)
      out +=
          formatted("{}{}{:.4g} times faster", most > 1.0 ? " or " : ", ", most > 1.0 ? "up to " : up_to, 1.0 / least);
    if (most > 0.0) out += " " + sides_of(a_, b_).b;
    const double ratio = b.attention_factor / a.attention_factor;
    if (std::abs(ratio - 1.0) > kAlike) out += formatted("; its cos and sin are {:.4g} times as large", ratio);
    if (changes(a_, length) || changes(b_, length)) out += formatted(" (of {} tokens)", length);
    return out;
  }

 private:
  static bool changes(const Rope& rope, std::int64_t length) {
    return frequencies_at(rope, 1).inv_freq != frequencies_at(rope, length).inv_freq;
  }

  bool differ(std::int64_t length) const {
    const Frequencies a = frequencies_at(a_, length);
    const Frequencies b = frequencies_at(b_, length);
    if (std::abs(a.attention_factor - b.attention_factor) > tolerance_ * a.attention_factor) return true;
    for (std::size_t p = 0; p < a.inv_freq.size(); ++p) {
      if (std::abs(a.inv_freq[p] - b.inv_freq[p]) * static_cast<double>(length - 1) > tolerance_) return true;
    }
    return false;
  }

  const Rope& a_;
  const Rope& b_;
  double tolerance_;
};

bool same_channels(const Rope& a, const Rope& b) {
  return a.dim == b.dim && a.pairing == b.pairing && a.axes.names == b.axes.names && a.pairs() == b.pairs();
}

// How many tokens the mask shows of a causal sequence.
std::int64_t reach(const Mask& mask) {
  std::int64_t out = kNever;
  if (mask.window) out = std::min(out, mask.window->past + 1);
  if (mask.chunk) out = std::min(out, *mask.chunk);
  return out;
}

class Plainly {
 public:
  Plainly(const Plan& a, const Plan& b, const Comparison& comparison, const ReportOptions& options)
      : a_(a),
        b_(b),
        comparison_(comparison),
        length_(std::max(lengths_of(a, options.length).target, lengths_of(b, options.length).target)) {}

  std::vector<std::string> take() {
    if (comparison_.verdict == Verdict::same) {
      out_.push_back("The same positions: nothing differs that changes what is computed.");
    } else if (comparison_.verdict == Verdict::same_but_pairing) {
      out_.push_back("The same positions, of channels in another order: one model, if the rows of q and k follow.");
    } else {
      differ();
    }
    for (const auto& [plan, which] : {std::pair(&a_, "first"), std::pair(&b_, "second")}) {
      if (!plan->known) out_.push_back(formatted("Of the {} not everything is known: see its warnings.", which));
    }
    return std::move(out_);
  }

 private:
  void differ() {
    std::int64_t first = kNever;
    std::vector<std::string> sentences;
    for (const plan::StackPair& stacks : plan::paired_stacks(a_, b_)) {
      if (stacks.a == nullptr || stacks.b == nullptr) continue;
      for (const auto& [change, run] : changes(stacks)) {
        first = std::min(first, change.first);
        const std::string layers = layers_of(run, *stacks.a);
        if (!change.of_mask) {
          sentences.push_back("in " + layers + ": " + change.words);
        } else {
          sentences.push_back(layers + (run.layers.size() == 1 ? ": queries " : " ") + change.words);
        }
      }
    }
    std::set<std::string> added;
    std::set<std::string> others;
    fields(added, others);
    if (!added.empty()) first = 2;
    if (first == kNever) {
      out_.push_back(
          others.contains("rotate")
              ? formatted("The same positions up to {} tokens, though the rules are not the same.", kBeyond * length_)
              : "The same positions: rotations, masks and what is added are alike.");
    } else if (first <= kFirstTokens) {
      out_.push_back("Not the same positions, from the first tokens on.");
    } else {
      out_.push_back(formatted("The same positions up to {} tokens; longer sequences differ.", first - 1));
    }
    others.erase("rotate");
    const bool all = sentences.size() <= kMostSentences;
    if (!all) sentences.resize(kMostSentences);
    for (std::string& sentence : sentences) {
      out_.push_back(capital(sentence) + ".");
    }
    if (!all) out_.push_back("The table has the other layers.");
    if (!added.empty()) out_.push_back("Another matter of positions: " + list(added) + ".");
    if (!others.empty()) out_.push_back((first == kNever ? "What differs: " : "Besides: ") + list(others) + ".");
  }

  // Of two stacks: what changes, by the layers in which it does.
  std::vector<std::pair<Change, LayerRun>> changes(const plan::StackPair& stacks) const {
    std::vector<std::pair<Change, plan::LayerPair>> out;
    for (const plan::LayerPair& pair : plan::paired_layers(stacks)) {
      if (pair.a == nullptr || pair.b == nullptr) continue;
      for (const std::optional<Change>& change : {rotation(pair), mask(pair)}) {
        if (!change) continue;
        const auto same = std::ranges::find_if(out, [&](const auto& one) { return one.first.words == change->words; });
        if (same == out.end()) {
          out.emplace_back(*change, pair);
        } else {
          plan::append_layers(same->second.layers, pair.layers);
        }
      }
    }
    std::vector<std::pair<Change, LayerRun>> runs;
    for (auto& [change, pair] : out) {
      plan::sort_layers(pair.layers);
      runs.emplace_back(std::move(change), std::move(pair.layers.a));
    }
    return runs;
  }

  std::optional<Change> rotation(const plan::LayerPair& pair) const {
    const Rotate* const a = main_rotation(*pair.a);
    const Rotate* const b = main_rotation(*pair.b);
    if (a == nullptr && b == nullptr) return {};
    if (a == nullptr || b == nullptr) {
      return Change{.words = formatted("the {} rotates queries and keys, the {} does not",
                                       a != nullptr ? "first" : "second", a != nullptr ? "second" : "first")};
    }
    if (a->scheme.index() != b->scheme.index()) return Change{.words = "one has xPos and the other has not"};
    const Rope& rope_a = rope(*a);
    const Rope& rope_b = rope(*b);
    if (a->offset != b->offset) return Change{.words = "positions count from another number"};
    if (!same_channels(rope_a, rope_b)) return Change{.words = "other channels rotate"};
    const Angles angles(rope_a, rope_b, comparison_.tolerance);
    const std::int64_t first = angles.first(std::min(length_, kNever / kBeyond) * kBeyond);
    if (first == kNever) return {};
    return Change{.first = first,
                  .words = angles.words(first > length_ ? 2 * first : length_) + unseen(rope_a, rope_b, pair)};
  }

  // What the difference is for: angles that one of the two has never met in training.
  std::string unseen(const Rope& a, const Rope& b, const plan::LayerPair& pair) const {
    const Reach first = reach_of(a, {.trained = a_.trained_length, .target = length_}, *pair.a);
    const Reach second = reach_of(b, {.trained = b_.trained_length, .target = length_}, *pair.b);
    if (!first.before || !second.before || first.unseen.size() == second.unseen.size()) return {};
    const Sides sides = sides_of(a, b);
    return formatted("; at {} tokens {} pairs meet angles that they never had within {} tokens {}, {}{} {}", length_,
                     first.unseen.size(), *first.before, sides.a, second.unseen.size(),
                     *first.before == *second.before ? "" : formatted(" within {}", *second.before), sides.b);
  }

  static std::optional<Change> mask(const plan::LayerPair& pair) {
    const Mask& a = pair.a->mask;
    const Mask& b = pair.b->mask;
    if (a == b || pair.a->kind != pair.b->kind) return {};
    Change out{.of_mask = true,
               .words = formatted("{} in the first, and {} in the second", seen(*pair.a), seen(*pair.b))};
    const bool causal = a.kind == MaskKind::causal && b.kind == MaskKind::causal && a.detail == b.detail;
    if (causal) out.first = std::min(reach(a), reach(b)) + 1;
    return out;
  }

  // Of the differences of substance those that no sentence about layers tells.
  void fields(std::set<std::string>& added, std::set<std::string>& others) const {
    for (const Difference& difference : comparison_.differences) {
      if (difference.kind != DifferenceKind::substance) continue;
      const std::string& field = difference.field;
      const std::string name = field.substr(0, field.find('/'));
      if (name == "name") {  // of a stack that is missing
        others.insert("a stack is in one alone");
      } else if (field.ends_with("/token_types")) {
        others.insert("token types");
      } else if (name == "rotate") {
        if (field.ends_with("/heads")) continue;
        field.starts_with("rotate/0") ? others.insert(name) : added.insert("a further rotation of a layer");
      } else if (name == "mask") {
        continue;
      } else if (name == "input") {
        added.insert("what is added to embeddings");
      } else if (name == "trained_length") {
        added.insert("how many learned positions there are");
      } else if (name == "score") {
        added.insert("what is added to scores");
      } else if (name == "regions" || name == "query_scale") {
        added.insert(name);
      } else if (name == "kind" && difference.layers.a.layers.empty() != difference.layers.b.layers.empty()) {
        others.insert(
            formatted("layers {} are in the {} alone",
                      named_layers(difference.layers.a.layers.empty() ? difference.layers.b : difference.layers.a),
                      difference.layers.a.layers.empty() ? "second" : "first"));
      } else {
        others.insert(name);
      }
    }
  }

  static std::string list(const std::set<std::string>& words) { return joined(words, ", "); }

  std::string layers_of(const LayerRun& run, const Stack& stack) const {
    const std::string who = a_.stacks.size() > 1 ? stack.name + " " : std::string();
    if (stack.layers.size() == 1) return formatted("the one {}layer", who);
    if (run.layers.size() == stack.layers.size()) return formatted("all {} {}layers", run.layers.size(), who);
    std::string named = named_layers(run);
    // "5, 11, ..., 29 (every 6th)": one parenthesis is enough.
    const bool has_note = named.ends_with(")");
    if (has_note) named.pop_back();
    return formatted("{}{} {}{}{} of {})", who, run.layers.size() == 1 ? "layer" : "layers", named,
                     has_note ? "; " : " (", run.layers.size(), stack.layers.size());
  }

  const Plan& a_;
  const Plan& b_;
  const Comparison& comparison_;
  std::int64_t length_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> plain_verdict(const Plan& a, const Plan& b, const Comparison& comparison,
                                       const ReportOptions& options) {
  return Plainly(a, b, comparison, options).take();
}

}  // namespace posenc::report
