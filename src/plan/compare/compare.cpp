// The comparison: stacks and layers paired, equal statements about several layers told once, and the verdict.

#include "plan/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/formatted.h"

namespace posenc::inline v0_2 {
namespace {

using plan::CompareScope;
using plan::LayerPair;
using plan::StackPair;

std::optional<std::int64_t> larger(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? std::max(a, b) : a ? a : b;
}

void require(const Plan& a, const Plan& b, const CompareOptions& options) {
  if (!std::isfinite(options.tolerance) || options.tolerance < 0) {
    throw Error("compare", {"tolerance", "be a finite number of at least 0", formatted("{}", options.tolerance)});
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

// Statements that are equal in all but their layers become one. Each T has `layers`, empty until take().
template <typename T>
class Merged {
 public:
  void add(T statement, const ComparedLayers& layers) {
    const auto same = std::find(statements_.begin(), statements_.end(), statement);
    const auto at = static_cast<std::size_t>(same - statements_.begin());
    if (same == statements_.end()) {
      statements_.push_back(std::move(statement));
      layers_.push_back(layers);
    } else {
      plan::append_layers(layers_[at], layers);
    }
  }
  void take_into(std::vector<T>& out) {
    for (std::size_t at = 0; at < statements_.size(); ++at) {
      plan::sort_layers(layers_[at]);
      statements_[at].layers = std::move(layers_[at]);
      out.push_back(std::move(statements_[at]));
    }
  }

 private:
  std::vector<T> statements_;
  std::vector<ComparedLayers> layers_;
};

// What is said of one stack.
struct Statements {
  Merged<Difference> differences;
  Merged<CachedKeys> cached_keys;
  Merged<PairingChange> pairings;
  Merged<AngleChange> angles;
  Merged<SoftmaxScaleChange> softmax_scales;
};

void add_angles(const LayerPair& pair, const CompareScope& scope, Statements& out) {
  const std::size_t both = std::min(pair.a->rotate.size(), pair.b->rotate.size());
  for (std::size_t r = 0; r < both; ++r) {
    const Rotate& a = pair.a->rotate[r];
    const Rotate& b = pair.b->rotate[r];
    if (a.role != b.role) continue;
    if (auto change = plan::pairing_change(rope(a), rope(b))) {
      change->rotation = static_cast<std::int64_t>(r);
      out.pairings.add(std::move(*change), pair.layers);
    }
    auto angles = plan::angle_change(a, b, scope);
    if (!angles || (angles->inv_freq_difference == 0 && angles->attention_factor_ratio == 1)) continue;
    angles->rotation = static_cast<std::int64_t>(r);
    out.angles.add(std::move(*angles), pair.layers);
  }
}

// A stack that only one plan has is told once, and not again for each of its layers.
void add_layers(const LayerPair& pair, bool in_both, const CompareScope& scope, Statements& out) {
  if (auto keys = plan::cached_keys(pair.a, pair.b, scope)) out.cached_keys.add(std::move(*keys), pair.layers);
  if (!in_both) return;
  for (Difference& found : plan::layer_differences(pair.a, pair.b, scope)) {
    out.differences.add(std::move(found), pair.layers);
  }
  if (pair.a == nullptr || pair.b == nullptr) return;
  add_angles(pair, scope, out);
  if (pair.a->kind == pair.b->kind && pair.a->softmax_scale != pair.b->softmax_scale) {
    out.softmax_scales.add({{}, pair.b->softmax_scale / pair.a->softmax_scale}, pair.layers);
  }
}

// The place in one plan; empty where that plan has no such stack or no such layer.
std::string place(const Stack* stack, std::int64_t at, const LayerRun& run, bool of_stack, const std::string& field) {
  if (stack == nullptr || (!of_stack && run.layers.empty())) return {};
  std::string path = formatted("/stacks/{}", at);
  if (!of_stack) path += "/layers/" + plan::places(run);
  return field.empty() ? path : path + "/" + field;
}

void add_stack(const StackPair& stacks, const CompareScope& scope, Comparison& out) {
  const std::size_t first = out.differences.size();
  for (Difference& found : plan::stack_differences(stacks)) {
    found.layers.stack = stacks.name();
    out.differences.push_back(std::move(found));
  }
  const bool in_both = stacks.a != nullptr && stacks.b != nullptr;
  Statements said;
  for (const LayerPair& pair : plan::paired_layers(stacks)) add_layers(pair, in_both, scope, said);
  said.differences.take_into(out.differences);
  said.cached_keys.take_into(out.cached_keys);
  said.pairings.take_into(out.pairings);
  said.angles.take_into(out.angles);
  said.softmax_scales.take_into(out.softmax_scales);
  for (std::size_t d = first; d < out.differences.size(); ++d) {
    Difference& found = out.differences[d];
    const bool of_stack = found.layers.a.layers.empty() && found.layers.b.layers.empty();
    found.where_a = place(stacks.a, stacks.at_a, found.layers.a, of_stack, found.field);
    found.where_b = place(stacks.b, stacks.at_b, found.layers.b, of_stack, found.field);
  }
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

}  // namespace posenc::inline v0_2
