// A study of a cache in words: sizes, then of each group of layers the verdicts and why, then what shifts leave.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/text/text_lines.h"
#include "posenc/cache/study_cache.h"

namespace posenc::inline v0_2 {
namespace {

std::string layers_of(const CacheGroup& group) {
  const std::size_t count = group.layers.layers.size();
  return formatted("layer{} {}", count == 1 ? "" : "s", selection(group.layers));
}

std::string bytes_or_none(const std::optional<double>& bytes) { return bytes ? formatted("{:.10g}", *bytes) : "-"; }

void add_sizes(plan::TextLines& lines, const CacheStudy& study) {
  lines.add(0, formatted("{}, {}: bytes of a token", plan::ascii(study.model), study.stack));
  // A column for each kind of layer that keeps something of its own.
  std::vector<const CacheGroup*> kinds;
  for (const CacheGroup& group : study.groups) {
    const auto same = [&](const CacheGroup* other) {
      return other->keys == group.keys && other->values == group.values;
    };
    if (!group.bytes.empty() && std::ranges::none_of(kinds, same)) kinds.push_back(&group);
  }
  lines.blank();
  const bool has_encoder = !study.encoder_bytes.empty();
  std::string head = formatted("{:<10} {:>12}", "format", "all layers");
  if (has_encoder) head += formatted(" {:>13}", "encoder token");
  for (const CacheGroup* kind : kinds) head += formatted(" {:>12}", formatted("{}+{}", kind->keys, kind->values));
  lines.add(0, head);
  for (std::size_t f = 0; f < study.bytes.size(); ++f) {
    std::string row = formatted("{:<10} {:>12}", name(study.bytes[f].format), bytes_or_none(study.bytes[f].bytes));
    if (has_encoder) row += formatted(" {:>13}", bytes_or_none(study.encoder_bytes[f].bytes));
    for (const CacheGroup* kind : kinds) row += formatted(" {:>12}", bytes_or_none(kind->bytes[f].bytes));
    lines.add(0, row);
  }
  lines.blank();
  lines.add(0, has_encoder ? "all layers: of the stack, a decoded token. encoder token: of all cross attention, whose "
                             "keys are of the encoder's tokens. Then of one layer, by its numbers of keys and of "
                             "values."
                           : "all layers: of the stack. Then of one layer, by its numbers of keys and of values.");
}

void add_group_facts(plan::TextLines& lines, const CacheGroup& group) {
  if (group.owner) {
    lines.add(2, formatted("reads the cache of layer {}", *group.owner));
  } else if (group.keys == 0) {
    lines.add(2, "keeps a state, whose size no plan says");
  }
  if (group.kept) lines.add(2, formatted("keeps {} tokens, the window", *group.kept));
  if (group.expanded) {
    lines.add(2,
              "latent attention, counted expanded: a cache of the latent vector is smaller, and of it only the "
              "rotated channels beside it move");
  }
}

std::string word(const ReuseVerdict& verdict) {
  std::string out(name(verdict.reuse));
  if (verdict.reuse == Reuse::approximate && verdict.reach && *verdict.reach > 0) {
    out += formatted(", {} tokens", *verdict.reach);
  }
  if (verdict.period > 1) out += formatted(", by {}s exact", verdict.period);
  return out;
}

// Each sentence once, with the operations that it is said of where that is not all.
void add_reasons(plan::TextLines& lines, const CacheGroup& group) {
  struct Said {
    ReuseReason reason;
    std::vector<std::string> of;
  };
  std::vector<Said> all;
  for (const OperationVerdict& one : group.verdicts) {
    for (const ReuseReason& reason : one.verdict.reasons) {
      auto found = std::ranges::find(all, reason, &Said::reason);
      if (found == all.end()) found = all.insert(all.end(), {reason, {}});
      const std::string operation(name(one.operation));
      if (found->of.empty() || found->of.back() != operation) found->of.push_back(operation);
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const Said& said) { return said.reason.effect; });
  for (const Said& said : all) {
    std::string of;
    if (std::ssize(said.of) < kCacheOperations) {
      for (const std::string& operation : said.of) of += (of.empty() ? " (" : ", ") + operation;
      of += ")";
    }
    lines.add(2, formatted("{}: {}{}", name(said.reason.effect), said.reason.text, of));
  }
}

void add_verdicts(plan::TextLines& lines, const CacheGroup& group) {
  lines.blank();
  lines.add(0, layers_of(group) + ", " + std::string(name(group.kind)));
  add_group_facts(lines, group);
  lines.add(2, formatted("{:<12} {:<30} {}", "", "keys stored unrotated", "stored rotated"));
  for (std::size_t at = 0; at + 1 < group.verdicts.size(); at += 2) {
    lines.add(2, formatted("{:<12} {:<30} {}", name(group.verdicts[at].operation), word(group.verdicts[at].verdict),
                           word(group.verdicts[at + 1].verdict)));
  }
  add_reasons(lines, group);
}

void add_shifts(plan::TextLines& lines, const CacheStudy& study) {
  if (study.shifts.empty()) return;
  std::vector<const CacheGroup*> shown;
  for (const CacheGroup& group : study.groups) {
    const auto same = [&](const CacheGroup* other) { return other->shifts == group.shifts; };
    if (group.shifts.empty() || std::ranges::any_of(shown, same)) continue;
    shown.push_back(&group);
    lines.blank();
    lines.add(0,
              formatted("error of keys rotated as in {}, shifted by {} each time", layers_of(group), study.shift_by));
    std::string head = formatted("{:<9} {:>9} |", "format", "unrotated");
    for (const std::int64_t shifts : study.shifts) head += formatted(" {:>7}", shifts);
    lines.add(0, head);
    for (const SimulatedShifts& one : group.shifts) {
      std::string row = formatted("{:<9} {:>9.2g} |", name(one.format), one.unrotated);
      for (const double error : one.rotated) row += formatted(" {:>7.2g}", error);
      lines.add(0, row);
    }
  }
  lines.blank();
  lines.add(0,
            shown.empty()
                ? "no layer rotates: shifts change nothing"
                : "unrotated: stored before RoPE, after any number of shifts. Then rotated and stored again each time, "
                  "after so many. The root of the mean square error over that of the keys.");
}

}  // namespace

std::string describe(const CacheStudy& study) {
  plan::TextLines lines;
  add_sizes(lines, study);
  for (const CacheGroup& group : study.groups) add_verdicts(lines, group);
  add_shifts(lines, study);
  return lines.take();
}

}  // namespace posenc::inline v0_2
