// A comparison as text: the verdict, what differs by runs of layers, and what follows, one sentence each.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "base/formatted.h"
#include "plan/text/text_lines.h"
#include "posenc/compare.h"

namespace posenc::inline v0_2 {
namespace {

using plan::TextLines;

constexpr std::size_t kNamedFields = 5;  // in the verdict

// "rotate.base" for "rotate/0/base", "rotate.1.base" for the second rotation of a layer.
std::string field_words(std::string_view field) {
  std::string out(field);
  if (const std::size_t at = out.find("/0/"); at != std::string::npos) out.erase(at, 2);
  std::replace(out.begin(), out.end(), '/', '.');
  return out.empty() ? "(unnamed)" : out;
}

std::string stack_words(const ComparedLayers& layers) { return layers.stack.empty() ? "nameless" : layers.stack; }

std::string layers_words(const ComparedLayers& layers) {
  const LayerRun& run = layers.a.blocks.empty() ? layers.b : layers.a;
  if (run.blocks.empty()) return stack_words(layers) + " stack";
  return formatted("{} {} {}", stack_words(layers), run.blocks.size() == 1 ? "layer" : "layers", selection(run));
}

// ---- the verdict ----

// A stack or layers that one side lacks are named by what is missing.
std::string fact_words(const Difference& difference) {
  if (!difference.where_a.empty() && !difference.where_b.empty()) return field_words(difference.field);
  return difference.field == "name" ? layers_words(difference.layers) : "number of layers";
}

// "mask.window, rotate.base and 3 more".
std::string fields_of_substance(const Comparison& comparison) {
  std::vector<std::string> fields;
  for (const Difference& difference : comparison.differences) {
    const std::string field = fact_words(difference);
    const bool is_new = std::find(fields.begin(), fields.end(), field) == fields.end();
    if (difference.kind == DifferenceKind::substance && is_new) fields.push_back(field);
  }
  if (fields.size() <= kNamedFields) return joined(fields, ", ");
  const std::vector<std::string> named(fields.begin(), fields.begin() + kNamedFields);
  return formatted("{} and {} more", joined(named, ", "), fields.size() - kNamedFields);
}

std::string verdict_words(const Comparison& comparison) {
  std::string out;
  switch (comparison.verdict) {
    case Verdict::same: out = "same in substance"; break;
    case Verdict::same_but_pairing: out = "same in substance but for the pairing: see what follows"; break;
    case Verdict::differ: return "differ in substance: " + fields_of_substance(comparison);
  }
  if (comparison.a.known && comparison.b.known) return out;
  const bool neither = !comparison.a.known && !comparison.b.known;
  return formatted("{}, as far as is known: {} facts open", out,
                   neither               ? "both leave"
                   : !comparison.a.known ? "A leaves"
                                         : "B leaves");
}

void add_plan(TextLines& lines, std::string_view side, const ComparedPlan& plan) {
  const std::string length = plan.trained_length ? formatted(", trained on {} tokens", *plan.trained_length) : "";
  lines.add(
      2, formatted("{}  {}: {}, family {}{}{}", side, plan.name, name(plan.kind),
                   plan.family.empty() ? "not named" : plan.family, length, plan.known ? "" : ", not known in full"));
}

// ---- what differs ----

// Rows of three columns below a title; a row that is too wide takes a line for each side.
class Table {
 public:
  Table(TextLines& lines, const std::vector<const Difference*>& differences) : lines_(lines) {
    for (const Difference* difference : differences) {
      const Row row{field_words(difference->field), plan::ascii(difference->a.words), plan::ascii(difference->b.words)};
      field_ = std::max(field_, row.field.size());
      if (fits(row)) a_ = std::max(a_, row.a.size());
    }
  }

  void add_title(std::string_view title) {
    lines_.add(0, formatted("{:<{}}{:<{}}B", title, kIndent + field_ + kGap, "A", a_ + kGap));
  }
  void add(const Difference& difference) {
    const Row row{field_words(difference.field), plan::ascii(difference.a.words), plan::ascii(difference.b.words)};
    if (fits(row) && kIndent + field_ + a_ + row.b.size() + 2 * kGap <= plan::kColumns) {
      return lines_.add(kIndent, formatted("{:<{}}{:<{}}{}", row.field, field_ + kGap, row.a, a_ + kGap, row.b));
    }
    lines_.add(kIndent, row.field);
    lines_.add(kIndent + 2, "A  " + row.a);
    lines_.add(kIndent + 2, "B  " + row.b);
  }

 private:
  struct Row {
    std::string field, a, b;
  };
  static constexpr std::size_t kIndent = 4;
  static constexpr std::size_t kGap = 2;
  static constexpr std::size_t kWidest = 22;  // of a value that shares a line
  static bool fits(const Row& row) { return row.a.size() <= kWidest && row.b.size() <= kWidest; }

  TextLines& lines_;
  std::size_t field_ = 24;
  std::size_t a_ = 8;
};

// Stacks may be nameless, so the place tells.
bool is_of_plan(const Difference& difference) {
  return !difference.where_a.starts_with("/stacks/") && !difference.where_b.starts_with("/stacks/");
}

// What the lines about A and B say already; and what is of use in JSON alone.
bool is_left_out(const Difference& difference) {
  constexpr std::array<std::string_view, 8> kFields{"known",          "family",  "source/kind", "source/name",
                                                    "trained_length", "sources", "absent_keys", "ignored_keys"};
  return is_of_plan(difference) && std::find(kFields.begin(), kFields.end(), difference.field) != kFields.end();
}

void add_differences(TextLines& lines, const Comparison& comparison, DifferenceKind kind, std::string_view title) {
  std::vector<const Difference*> shown;
  for (const Difference& difference : comparison.differences) {
    if (difference.kind == kind && !is_left_out(difference)) shown.push_back(&difference);
  }
  if (shown.empty()) return;
  // Differences of the same layers stand together, at the place of the first of them.
  const auto group = [&](const Difference* of) {
    return std::find_if(shown.begin(), shown.end(), [&](const Difference* d) { return d->layers == of->layers; }) -
           shown.begin();
  };
  std::vector<std::pair<std::ptrdiff_t, const Difference*>> ordered;
  for (const Difference* difference : shown) ordered.emplace_back(group(difference), difference);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  lines.blank();
  Table table(lines, shown);
  table.add_title(title);
  const ComparedLayers* last = nullptr;
  for (const auto& [place, difference] : ordered) {
    const bool is_new = last == nullptr || *last != difference->layers;
    if (is_new) lines.add(2, is_of_plan(*difference) ? "the file" : layers_words(difference->layers));
    last = &difference->layers;
    table.add(*difference);
  }
}

// ---- what follows ----

std::string_view reason_words(KeyReason reason) {
  switch (reason) {
    case KeyReason::absent: return "only one plan has these layers";
    case KeyReason::kind: return "the layers are of different kinds";
    case KeyReason::kv_from: return "keys come from another layer";
    case KeyReason::compression: return "keys of other numbers of tokens";
    case KeyReason::kv_heads: return "other numbers of key/value heads";
    case KeyReason::head_dim: return "heads of other widths";
    case KeyReason::values: return "other values beside them";
    case KeyReason::qk_norm: return "another norm of keys";
    case KeyReason::rotation: return "other rotations";
    case KeyReason::channels: return "other channels rotate";
    case KeyReason::axes: return "other coordinates rotate them";
    case KeyReason::pairing: return "another pairing";
    case KeyReason::offset: return "positions count from another number";
    case KeyReason::frequencies: return "angles differ by more than the tolerance";
    case KeyReason::attention_factor: return "another attention factor";
    case KeyReason::added: return "something else is added to what they are made of";
    case KeyReason::norm_after: return "a norm after the rotation rules out rotating them again";
  }
  return "";
}

// What would make them usable.
std::string remedy_words(const CachedKeys& keys) {
  if (keys.use == KeyUse::as_they_are || keys.use == KeyUse::not_at_all) return "";
  const auto has = [&](KeyReason reason) {
    return std::find(keys.because.begin(), keys.because.end(), reason) != keys.because.end();
  };
  std::vector<std::string_view> steps;
  if (has(KeyReason::pairing)) steps.push_back("with the channels of each head reordered");
  if (has(KeyReason::frequencies) || has(KeyReason::offset)) {
    steps.push_back("rotated again by the difference of the angles");
  }
  if (has(KeyReason::attention_factor)) {
    steps.push_back("with what rotates multiplied by the ratio of the attention factors");
  }
  const std::string_view comma = steps.size() > 1 || has(KeyReason::attention_factor) ? "," : "";
  return formatted("; {}{} they are", joined(steps, ", and "), comma);
}

void add_cached_keys(TextLines& lines, const CachedKeys& keys) {
  const std::string who = layers_words(keys.layers);
  if (keys.use == KeyUse::as_they_are) {
    return lines.add(2, formatted("{}: cached keys are usable as they are", who));
  }
  std::vector<std::string_view> reasons;
  for (const KeyReason reason : keys.because) reasons.push_back(reason_words(reason));
  lines.add(
      2, formatted("{}: cached keys are not usable{} ({}){}", who, keys.use == KeyUse::not_at_all ? "" : " as they are",
                   joined(reasons, "; "), remedy_words(keys)));
}

// Whether a difference is one of how a layer makes its keys, and not of what it is given.
bool is_of_keys(const Difference& difference) {
  constexpr std::array<std::string_view, 7> kOfKeys{"kind",        "kv_heads",  "head_dim", "kv_from",
                                                    "compression", "value_dim", "name"};
  return difference.field.starts_with("rotate/") || difference.field.starts_with("qk_norm") ||
         std::find(kOfKeys.begin(), kOfKeys.end(), difference.field) != kOfKeys.end();
}

void add_upstream(TextLines& lines, const Comparison& comparison) {
  const bool any_use = std::any_of(comparison.cached_keys.begin(), comparison.cached_keys.end(),
                                   [](const CachedKeys& keys) { return keys.use != KeyUse::not_at_all; });
  std::vector<std::string> fields;
  for (const Difference& difference : comparison.differences) {
    const std::string field = field_words(difference.field);
    const bool counts = difference.kind == DifferenceKind::substance && !is_of_keys(difference);
    if (counts && std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
  }
  if (!any_use || fields.empty()) return;
  lines.add(2, formatted("the hidden states that keys are made from differ all the same, by {}", joined(fields, ", ")));
}

// Layers behind the first of their stack that gives out something else have other inputs, whatever they do themselves.
// Another pairing and a first position of its own change no score.
void add_later_layers(TextLines& lines, const Comparison& comparison) {
  const auto changes_scores = [](const CachedKeys& keys) {
    return std::any_of(keys.because.begin(), keys.because.end(), [](KeyReason reason) {
      return reason == KeyReason::frequencies || reason == KeyReason::attention_factor;
    });
  };
  std::vector<std::string_view> told;
  for (const CachedKeys& first : comparison.cached_keys) {
    const std::string_view stack = first.layers.stack;
    if (!changes_scores(first) || std::find(told.begin(), told.end(), stack) != told.end()) continue;
    told.push_back(stack);
    const std::int64_t block = first.layers.a.blocks.front();
    const bool any_later =
        std::any_of(comparison.cached_keys.begin(), comparison.cached_keys.end(), [&](const CachedKeys& keys) {
          return keys.use != KeyUse::not_at_all && keys.layers.stack == stack && keys.layers.a.blocks.back() > block;
        });
    if (!any_later) continue;
    lines.add(2, formatted("beyond {} layer {} keys are made from hidden states that differ as well: fill the cache "
                           "again",
                           stack_words(first.layers), block));
  }
}

// "2p", "p+64".
std::string row(std::string_view step, std::int64_t from) {
  return from == 0 ? std::string(step) : formatted("{}+{}", step, from);
}

void add_pairing(TextLines& lines, const PairingChange& change) {
  const std::int64_t first = change.first_channel;
  const bool to_interleaved = change.b == Pairing::interleaved;
  lines.add(2, formatted("{}: A pairs channels {}, B {}; for one set of weights, rows {} and {} of each "
                         "head of q and k in {} are rows {} and {} in {}",
                         layers_words(change.layers), plan::pairing_words(change.a), plan::pairing_words(change.b),
                         row("2p", first), row("2p", first + 1), to_interleaved ? "B" : "A", row("p", first),
                         row("p", first + change.dim / 2), to_interleaved ? "A" : "B"));
}

std::string angles_words(const AngleChange& change, const Comparison& comparison) {
  std::string out =
      formatted("of pair {} of {} is apart by {:.6g}", change.pair, change.pairs, change.inv_freq_difference);
  if (!change.first_position) {
    out += formatted("; no angle by more than {} rad below position 2^53", comparison.tolerance);
  } else {
    const bool is_late = comparison.length && *change.first_position >= *comparison.length;
    out += formatted("; its angle by more than {} rad from position {} on{}", comparison.tolerance,
                     *change.first_position, is_late ? ", beyond the length" : "");
  }
  if (!change.end_difference) return out;
  return out + formatted(", by {:.6g} rad ({:.6g} turns) at position {}", *change.end_difference,
                         *change.end_difference / (2 * std::numbers::pi), *comparison.length - 1);
}

void add_angles(TextLines& lines, const AngleChange& change, const Comparison& comparison) {
  const std::string role = change.role == RotateRole::main ? "" : formatted(", {}", name(change.role));
  const std::string who = layers_words(change.layers) + role;
  if (change.inv_freq_difference > 0) {
    lines.add(2, formatted("{}: inv_freq {}", who, angles_words(change, comparison)));
  }
  if (change.attention_factor_ratio != 1) {
    lines.add(2,
              formatted("{}: the attention factor of B is {:.6g} times that of A", who, change.attention_factor_ratio));
  }
}

bool are_of_two_formats(const Comparison& comparison) {
  const auto is_permuted = [](SourceKind kind) { return kind == SourceKind::gguf || kind == SourceKind::params_json; };
  return is_permuted(comparison.a.kind) != is_permuted(comparison.b.kind);
}

void add_consequences(TextLines& lines, const Comparison& comparison) {
  if (comparison.cached_keys.empty()) return;
  lines.blank();
  lines.add(0, "what follows");
  for (const CachedKeys& keys : comparison.cached_keys) add_cached_keys(lines, keys);
  add_upstream(lines, comparison);
  add_later_layers(lines, comparison);
  for (const PairingChange& change : comparison.pairings) add_pairing(lines, change);
  if (!comparison.pairings.empty() && are_of_two_formats(comparison)) {
    lines.add(
        2, "a config.json and a GGUF or params.json of the Llama line differ so: the conversion permutes those rows");
  }
  for (const AngleChange& change : comparison.angles) add_angles(lines, change, comparison);
  for (const SoftmaxScaleChange& change : comparison.softmax_scales) {
    lines.add(2, formatted("{}: the softmax scale of B is {:.6g} times that of A", layers_words(change.layers),
                           change.ratio));
  }
}

}  // namespace

std::string describe(const Comparison& comparison) {
  TextLines lines;
  lines.add(0, verdict_words(comparison));
  add_plan(lines, "A", comparison.a);
  add_plan(lines, "B", comparison.b);
  add_differences(lines, comparison, DifferenceKind::substance, "what differs");
  add_differences(lines, comparison, DifferenceKind::note, "of note");
  add_consequences(lines, comparison);
  return lines.take();
}

}  // namespace posenc::inline v0_2
