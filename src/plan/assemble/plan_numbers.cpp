#include "plan/assemble/plan_numbers.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/rope/xpos.h"

namespace posenc::plan {
namespace {

// A layer of a plan, by its places.
struct At {
  std::size_t stack = 0;
  std::size_t layer = 0;
};

// Whether "0-3,7" holds 7.
bool covers(std::string_view places, std::size_t place) {
  const char* at = places.data();
  const char* const end = places.data() + places.size();
  while (at < end) {
    std::size_t first = 0;
    at = std::from_chars(at, end, first).ptr;
    std::size_t last = first;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    if (first <= place && place <= last) return true;
    if (at < end) ++at;
  }
  return false;
}

// Where that field of the layer came from; empty where no place in the file says it.
std::string source_of(const Plan& plan, At at, std::string_view field) {
  const std::string before = formatted("/stacks/{}/layers/", at.stack);
  const std::string behind = formatted("/{}", field);
  for (const ValueSource& source : plan.sources) {
    std::string_view where = source.where;
    if (!where.starts_with(before) || !where.ends_with(behind)) continue;
    where.remove_prefix(before.size());
    if (where.size() < behind.size() || !covers(where.substr(0, where.size() - behind.size()), at.layer)) continue;
    return source.from.starts_with("default: ") ? "" : source.from;
  }
  return "";
}

FileError error_at(const Plan& plan, std::string path) {
  FileError error;
  error.kind = ErrorKind::out_of_range;
  error.file = plan.source.name;
  error.path = std::move(path);
  return error;
}

std::string in_words(const Plan& plan, At at) {
  const Stack& stack = plan.stacks[at.stack];
  return formatted("{}, layer {}", stack.name, stack.layers[at.layer].index);
}

std::optional<FileError> unusable_scale(const Plan& plan, At at) {
  const double scale = plan.stacks[at.stack].layers[at.layer].softmax_scale;
  if (math::fits_float(scale)) return {};
  // Of latent attention YaRN's numbers enter it.
  std::string from;
  for (const std::string_view field : {"softmax_scale", "rotate/0/scaling/mscale_all_dim", "rotate/0/scaling/factor"}) {
    if (from.empty()) from = source_of(plan, at, field);
  }
  FileError error = error_at(plan, from.empty() ? formatted("/stacks: {}", in_words(plan, at)) : std::move(from));
  error.expected = formatted("a softmax scale that is {}", math::kFitsFloat);
  error.got = formatted("{}", scale);
  error.detail = in_words(plan, at);
  return error;
}

// The number of a rotation that float does not hold, at the plan's length: models compute frequencies in float.
std::optional<Problem> beyond_float(const Rope& rope, std::optional<std::int64_t> length) {
  if (auto problem = math::check_float("base", rope.base)) return problem;
  const std::vector<double> inv_freq = frequencies(rope, length).inv_freq;
  for (std::size_t p = 0; p < inv_freq.size(); ++p) {
    if (auto problem = math::check_float(formatted("inv_freq[{}]", p), inv_freq[p])) return problem;
  }
  return {};
}

// A rotation passed its check where it was read; the length comes from elsewhere.
std::optional<FileError> unusable_rotation(const Plan& plan, At at) {
  const std::vector<Rotate>& rotations = plan.stacks[at.stack].layers[at.layer].rotate;
  for (std::size_t r = 0; r < rotations.size(); ++r) {
    const Rope& scheme = rope(rotations[r]);
    std::optional<Problem> problem = check(scheme, plan.length);
    if (!problem) problem = beyond_float(scheme, plan.length);
    if (const auto* xpos = std::get_if<XPos>(&rotations[r].scheme); xpos != nullptr && !problem) {
      problem = math::check_decay(*xpos);
    }
    if (!problem) continue;
    const std::string_view field = problem->field == "scale_base" ? "scale_base" : "base";
    std::string from = plan.length ? "" : source_of(plan, at, formatted("rotate/{}/{}", r, field));
    FileError error = error_at(plan, from.empty() ? formatted("/stacks: {}", in_words(plan, at)) : std::move(from));
    const std::string length = plan.length ? formatted("for {} tokens, ", *plan.length) : "";
    error.expected = formatted("a rotation {}whose {} must {}", length, problem->field, problem->must);
    error.got = problem->is;
    error.detail = in_words(plan, at);
    return error;
  }
  return {};
}

}  // namespace

std::optional<FileError> unusable_number(const Plan& plan) {
  for (std::size_t s = 0; s < plan.stacks.size(); ++s) {
    const std::vector<LayerPlan>& layers = plan.stacks[s].layers;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (auto error = unusable_scale(plan, {s, l})) return error;
      // Most layers rotate as the one before.
      if (l > 0 && layers[l].rotate == layers[l - 1].rotate) continue;
      if (auto error = unusable_rotation(plan, {s, l})) return error;
    }
  }
  return {};
}

}  // namespace posenc::plan
