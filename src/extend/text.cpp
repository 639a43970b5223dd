// A study in words: a table of the ways, then what follows.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/formatted.h"
#include "extend/ways.h"
#include "plan/override/patches.h"
#include "plan/text/text_lines.h"
#include "posenc/extend.h"

namespace posenc::inline v0_2 {
namespace {

std::string times(double x) { return formatted("{:.3g}", x); }

void add_block(plan::TextLines& lines, const ExtensionStudy& study) {
  if (study.block.empty()) return;
  lines.blank();
  lines.add(0, "what the file's scaling rule says");
  for (const ExplainedKey& key : study.block) {
    lines.add(2, key.key + " " + key.value + ": " + key.meaning +
                     (key.problem.empty() ? "" : " But " + key.key + " " + key.problem + "."));
  }
}

// "41-63": ascending numbers, those in a row by the first and the last.
std::string pair_numbers(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::int32_t first = numbers[n];
    while (n + 1 < numbers.size() && numbers[n + 1] == numbers[n] + 1) ++n;
    text += formatted("{}{}", text.empty() ? "" : ", ", first);
    if (numbers[n] > first) text += formatted("-{}", numbers[n]);
  }
  return text;
}

// Which pairs are beyond, by way.
std::string beyond_by_way(const ExtensionStudy& study) {
  std::string text;
  for (const Extension& way : study.ways) {
    if (way.unseen_pairs.empty()) continue;
    text += formatted("{}{} {}", text.empty() ? "" : "; ", way.name, pair_numbers(way.unseen_pairs));
  }
  return text;
}

void add_ways(plan::TextLines& lines, const ExtensionStudy& study) {
  lines.blank();
  const bool has_given = study.entropy_of_given_before.has_value();
  lines.add(0, formatted("{:<12} {:>7} {:>7} {:>9} {:>9} {:>9} {:>8}{}", "way", "beyond", "as were", "fastest",
                         "slowest", "factor", "entropy", has_given ? "    given" : ""));
  for (const Extension& way : study.ways) {
    if (!way.refused.empty()) {
      lines.add(0, formatted("{:<12} {}", way.name, way.refused));
      continue;
    }
    lines.add(0, formatted("{:<12} {:>7} {:>7} {:>9} {:>9} {:>9} {:>8}", way.name, way.unseen, way.kept,
                           times(way.fastest_slower), times(way.slowest_slower), times(way.attention_factor),
                           times(way.entropy)) +
                     (way.entropy_of_given ? formatted(" {:>8}", times(*way.entropy_of_given)) : ""));
  }
  lines.blank();
  if (const std::string pairs = beyond_by_way(study); !pairs.empty()) {
    lines.add(0, formatted("pairs beyond, from 0, the fastest: {}", pairs));
  }
  lines.add(0,
            "beyond: pairs that meet angles they never had. as were: pairs that turn as without a rule. fastest, "
            "slowest: times that these pairs turn slower. factor: of cos and sin. entropy: of a softmax over all keys, "
            "random ones, in nats" +
                (has_given ? formatted(". given: of the given queries and keys, {:.3g} over {} keys as trained",
                                       *study.entropy_of_given_before, study.from)
                           : std::string()));
}

void add_patches(plan::TextLines& lines, const ExtensionStudy& study) {
  if (study.patches.empty()) return;
  lines.blank();
  lines.add(0, "how it is written");
  for (const OverridePatch& patch : study.patches) {
    lines.add(2,
              formatted("{}: {}", title(patch.form), patch.text.empty() ? "nothing" : plan::on_one_line(patch.text)));
    for (const std::string& unsaid : patch.unsaid) lines.add(4, unsaid);
  }
}

}  // namespace

std::string describe(const ExtensionStudy& study) {
  constexpr double kGibi = 1073741824.0;
  plan::TextLines lines;
  lines.add(0, formatted("{}: from {} to {} tokens, {:.4g} times", plan::ascii(study.model), study.from, study.to,
                         static_cast<double>(study.to) / static_cast<double>(study.from)));
  lines.add(
      2, formatted(
             "{} layer {}: {} pairs, base {}; softmax over {} random keys {:.3g} nats; KV cache {:.4g} GiB in 16 bits",
             study.stack, study.layer, study.pairs, study.base, study.from, study.entropy_before,
             study.cache_bytes / kGibi));
  add_block(lines, study);
  add_ways(lines, study);
  lines.blank();
  lines.add(0, formatted("recommended: {}", extend::title(study.recommended)));
  for (const std::string& reason : study.reasons) lines.add(2, reason);
  for (const Extension& way : study.ways) {
    if (way.name != study.recommended) continue;
    for (const std::string& words : way.settings) lines.add(2, "--set " + words);
  }
  if (!study.open_questions.empty()) {
    lines.blank();
    lines.add(0, "what these numbers cannot say");
    for (const std::string& question : study.open_questions) lines.add(2, question);
  }
  add_patches(lines, study);
  return lines.take();
}

}  // namespace posenc::inline v0_2
