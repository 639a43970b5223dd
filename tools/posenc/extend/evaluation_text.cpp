// An evaluation in words: two tables, and which way was the best beyond the trained length.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "extend/evaluation.h"
#include "line/formatted.h"
#include "line/json_text.h"

namespace posenc::tool {
namespace {

std::int64_t first_of(const Evaluation& evaluation, std::size_t range) {
  return static_cast<std::int64_t>(range) * evaluation.length / static_cast<std::int64_t>(kRanges);
}

// The mean of the ranges that lie beyond the trained length; NaN where there is none.
double loss_beyond(const Evaluation& evaluation, const WayMeasured& way, std::int64_t trained) {
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t r = 0; r < kRanges; ++r) {
    if (first_of(evaluation, r) < trained) continue;
    sum += way.loss[r];
    count += 1.0;
  }
  return sum / count;
}

}  // namespace

std::string evaluation_text(const Evaluation& evaluation, const ExtensionStudy& study) {
  std::string out = formatted("\nmeasured on {} windows of {} tokens: loss by position, in nats a token\n",
                              evaluation.windows, evaluation.length);
  out += formatted("{:<12}", "from token");
  for (std::size_t r = 0; r < kRanges; ++r) out += formatted(" {:>7}", first_of(evaluation, r));
  out += '\n';
  for (const WayMeasured& way : evaluation.ways) {
    out += formatted("{:<12}", way.way);
    for (const double loss : way.loss) out += formatted(" {:>7.3f}", loss);
    out += '\n';
  }
  out += formatted("\nrecall of a key of {} tokens, by how deep it stands (a guess: {:.2g})\n", kKeyTokens,
                   1.0 / static_cast<double>(evaluation.vocab));
  out += formatted("{:<12}", "depth");
  for (const double depth : kDepths) out += formatted(" {:>7}", depth);
  out += '\n';
  for (const WayMeasured& way : evaluation.ways) {
    out += formatted("{:<12}", way.way);
    for (const double part : way.recalled) out += formatted(" {:>7.2f}", part);
    out += '\n';
  }
  const auto beyond = [&](const WayMeasured& way) { return loss_beyond(evaluation, way, study.from); };
  const auto best = std::ranges::min_element(evaluation.ways, {}, beyond);
  if (best != evaluation.ways.end() && std::isfinite(beyond(*best))) {
    out += formatted("\nleast loss beyond {} tokens: {}, {:.3f}", study.from, best->way, beyond(*best));
    const auto recommended = std::ranges::find(evaluation.ways, study.recommended, &WayMeasured::way);
    if (recommended != evaluation.ways.end() && recommended != best) {
      out += formatted("; {}, which the frequencies recommend, {:.3f}", recommended->way, beyond(*recommended));
    }
    out += '\n';
  }
  return out;
}

std::string evaluation_json(const Evaluation& evaluation, const std::string& search_json) {
  const auto numbers = [](const auto& list) {
    std::vector<std::string> out;
    for (const auto one : list) out.push_back(json_number(static_cast<double>(one)));
    return json_array(out);
  };
  std::vector<std::int64_t> first;
  for (std::size_t r = 0; r < kRanges; ++r) first.push_back(first_of(evaluation, r));
  std::vector<std::string> ways;
  for (const WayMeasured& way : evaluation.ways) {
    ways.push_back(json_object(
        {{"name", json_string(way.way)}, {"loss", numbers(way.loss)}, {"recalled", numbers(way.recalled)}}));
  }
  const auto whole = [](std::int64_t number) { return formatted("{}", number); };
  return json_object({{"windows", whole(evaluation.windows)},
                      {"length", whole(evaluation.length)},
                      {"ranges_from", numbers(first)},
                      {"depths", numbers(kDepths)},
                      {"key_tokens", whole(kKeyTokens)},
                      {"vocab", whole(evaluation.vocab)},
                      {"ways", json_array(ways)},
                      {"search", search_json}});
}

}  // namespace posenc::tool
