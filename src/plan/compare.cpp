// The comparison: stacks and layers paired, equal statements about several layers told once, and the verdict.
#include "posenc/compare.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "plan/compare_facts.h"
#include "plan/compare_keys.h"
#include "plan/compare_names.h"
#include "plan/compare_pairs.h"
#include "plan/compare_rotations.h"

namespace posenc {
namespace {

using plan::CompareScope;
using plan::LayerPair;
using plan::StackPair;

std::optional<std::int64_t> larger(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? std::max(a, b) : a ? a : b;
}

void require(const Plan& a, const Plan& b, const CompareOptions& options) {
  if (!std::isfinite(options.tolerance) || options.tolerance < 0) {
    throw Error("compare",
                {"tolerance", "be a finite number of at least 0", fmt::format(FMT_COMPILE("{}"), options.tolerance)});
  }
  for (const Plan* plan : {&a, &b}) {
    for (const Stack& stack : plan->stacks) {
      for (const LayerRun& run : layer_runs(stack)) {
        for (const Rotate& rotate : stack.layers[static_cast<std::size_t>(run.layers.front())].rotate) {
          if (auto problem = check(rope(rotate), plan->length)) throw Error("compare", *problem);
        }
      }
    }
  }
}

ComparedPlan summary(const Plan& plan) {
  return {plan.source.name, plan.source.kind, plan.family, plan.known, plan.trained_length};
}

// What is said of one stack.
struct Statements {
  std::vector<Difference> differences;
  std::vector<CachedKeys> cached_keys;
  std::vector<PairingChange> pairings;
  std::vector<AngleChange> angles;
  std::vector<LogitScaleChange> logit_scales;
};

template <typename T>
void append(std::vector<T>& to, std::vector<T>& more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Adds the layers of `more` to a statement that is equal in all else, or the statement.
template <typename T>
void add(std::vector<T>& statements, T more) {
  const auto same = std::find_if(statements.begin(), statements.end(), [&](const T& known) {
    T moved = known;
    moved.layers = more.layers;
    return moved == more;
  });
  if (same == statements.end()) {
    statements.push_back(std::move(more));
  } else {
    plan::add_layers(same->layers, more.layers);
  }
}

void add_angles(const LayerPair& pair, const CompareScope& scope, Statements& out) {
  const std::size_t both = std::min(pair.a->rotate.size(), pair.b->rotate.size());
  for (std::size_t r = 0; r < both; ++r) {
    const Rotate& a = pair.a->rotate[r];
    const Rotate& b = pair.b->rotate[r];
    if (auto change = plan::pairing_change(rope(a), rope(b))) {
      change->layers = pair.layers;
      change->rotation = static_cast<std::int64_t>(r);
      add(out.pairings, std::move(*change));
    }
    auto angles = plan::angle_change(a, b, scope);
    if (!angles || (angles->inv_freq_difference == 0 && angles->attention_factor_ratio == 1)) continue;
    angles->layers = pair.layers;
    angles->rotation = static_cast<std::int64_t>(r);
    add(out.angles, std::move(*angles));
  }
}

// A stack that only one plan has is told once, and not again for each of its layers.
void add_layers(const LayerPair& pair, bool in_both, const CompareScope& scope, Statements& out) {
  if (auto keys = plan::cached_keys(pair.a, pair.b, scope)) {
    keys->layers = pair.layers;
    add(out.cached_keys, std::move(*keys));
  }
  if (!in_both) return;
  for (Difference& found : plan::layer_differences(pair.a, pair.b, scope)) {
    found.layers = pair.layers;
    add(out.differences, std::move(found));
  }
  if (pair.a == nullptr || pair.b == nullptr) return;
  add_angles(pair, scope, out);
  if (pair.a->kind == pair.b->kind && pair.a->logit_scale != pair.b->logit_scale) {
    add(out.logit_scales, LogitScaleChange{pair.layers, pair.b->logit_scale / pair.a->logit_scale});
  }
}

// The place in one plan; empty where that plan has no such stack or no such layer.
std::string place(const Stack* stack, std::int64_t at, const LayerRun& run, bool of_stack, const std::string& field) {
  if (stack == nullptr || (!of_stack && run.layers.empty())) return {};
  std::string path = fmt::format(FMT_COMPILE("/stacks/{}"), at);
  if (!of_stack) path += "/layers/" + plan::places(run);
  return field.empty() ? path : path + "/" + field;
}

void add_stack(const StackPair& stacks, const CompareScope& scope, Comparison& out) {
  Statements said;
  for (Difference& found : plan::stack_differences(stacks)) {
    found.layers.stack = stacks.name();
    said.differences.push_back(std::move(found));
  }
  const bool in_both = stacks.a != nullptr && stacks.b != nullptr;
  for (const LayerPair& pair : plan::paired_layers(stacks)) add_layers(pair, in_both, scope, said);
  for (Difference& found : said.differences) {
    const bool of_stack = found.layers.a.layers.empty() && found.layers.b.layers.empty();
    found.where_a = place(stacks.a, stacks.at_a, found.layers.a, of_stack, found.field);
    found.where_b = place(stacks.b, stacks.at_b, found.layers.b, of_stack, found.field);
  }
  append(out.differences, said.differences);
  append(out.cached_keys, said.cached_keys);
  append(out.pairings, said.pairings);
  append(out.angles, said.angles);
  append(out.logit_scales, said.logit_scales);
}

Verdict verdict(const std::vector<Difference>& differences) {
  Verdict out = Verdict::same;
  for (const Difference& found : differences) {
    if (found.kind == DifferenceKind::note) continue;
    if (!found.field.starts_with("rotate/") || !found.field.ends_with("/pairing")) return Verdict::differ;
    out = Verdict::same_but_pairing;
  }
  return out;
}

}  // namespace

Comparison compare(const Plan& a, const Plan& b, const CompareOptions& options) {
  require(a, b, options);
  Comparison out;
  out.tolerance = options.tolerance;
  out.length = larger(a.length, b.length);
  if (!out.length) out.length = larger(a.trained_length, b.trained_length);
  out.a = summary(a);
  out.b = summary(b);
  const CompareScope scope{a.length, b.length, options.tolerance, out.length};
  for (const StackPair& stacks : plan::paired_stacks(a, b)) add_stack(stacks, scope, out);
  for (Difference& found : plan::plan_differences(a, b)) {
    found.where_a = found.where_b = found.field.empty() ? std::string() : "/" + found.field;
    out.differences.push_back(std::move(found));
  }
  out.verdict = verdict(out.differences);
  return out;
}

std::string_view name(Verdict verdict) noexcept { return plan::enum_name(verdict); }
std::string_view name(DifferenceKind kind) noexcept { return plan::enum_name(kind); }
std::string_view name(KeyUse use) noexcept { return plan::enum_name(use); }
std::string_view name(KeyReason reason) noexcept { return plan::enum_name(reason); }

}  // namespace posenc
