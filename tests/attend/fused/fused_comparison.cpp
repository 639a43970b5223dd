#include "attend/fused/fused_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "attend/lowered_size.h"
#include "cpu/lower/lower.h"
#include "support/pair_tolerances.h"

namespace posenc::test {
namespace {

constexpr std::uint64_t kSeed = 20250301;

// Gates are summed along ascending orders only.
bool sums_gates(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score,
                             [](const ScoreTerm& term) { return std::holds_alternative<ContextualPosition>(term); });
}

// Queries or keys were not in bfloat16, or are not any more when they are multiplied.
bool rounds_scores(const math::Lowered& lowered, DType dtype) {
  const auto is_added = [](const math::Term& term) { return std::holds_alternative<math::KeyVector>(term); };
  return dtype != DType::bf16 || !lowered.rotations.empty() || std::ranges::any_of(lowered.terms, is_added);
}

bool rounds_values(const math::Lowered& lowered, DType dtype) {
  return dtype != DType::bf16 || std::holds_alternative<math::ValueRotation>(lowered.values);
}

}  // namespace

SchemeCall::Result fused_bounds(const SchemeCall& call, const SchemeCall::Result& wanted, DType dtype,
                                Products products) {
  const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
  const auto keys = static_cast<double>(call.sizes.keys);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  const LoweredSizes sizes(lowered, call, kRotatedInFloats);
  SchemeCall::Result bounds;
  for (std::size_t row = 0; row < wanted.lse.size(); ++row) {
    const ScoreSize size = sizes.score(row);
    const double score = fused_score(size.size, size.roundings);
    const bool rounds = products == Products::bf16;
    const double rounded = paired_score(size.size, rounds && rounds_scores(lowered, dtype));
    bounds.lse.push_back(fused_lse(score + rounded, keys, wanted.lse[row]));
    for (std::size_t c = 0; c < width; ++c) {
      const Values values = sizes.values(row, c);
      double bound = fused_output(score, values.half_range, keys, values.largest, values.error);
      if (rounds) {
        bound += paired_output(rounded, values.half_range, rounds_values(lowered, dtype) ? values.largest : 0.0);
      }
      bounds.out.push_back(stored_error(dtype, wanted.out[row * width + c], bound));
    }
  }
  return bounds;
}

FusedComparison::FusedComparison(const std::string& suite, Products products) : products_(products) {
  for (const Isa isa : products == Products::f32 ? every_isa(suite) : isas_with_pairs(suite)) {
    const std::string own = suite + ", " + std::string(name(isa));
    isas_.push_back({isa, ErrorRatio(own), ErrorRatio(own + ", lse")});
  }
}

void FusedComparison::compare(const SchemeCase& scheme, const Arrangement& arrangement, Places places, DType dtype) {
  if (!fits(scheme, arrangement, places)) return;
  if (arrangement.orders_are_given && sums_gates(scheme.layer)) return;
  const std::string where = scheme.name + ", " + arrangement.name + " " + std::to_string(arrangement.queries) + "/" +
                            std::to_string(arrangement.keys) + ", places " + std::to_string(int(places)) + ", " +
                            std::string(name(dtype)) + ", seed " + std::to_string(kSeed + calls_);
  SCOPED_TRACE(where);
  SchemeCall call(scheme, arrangement, places, kSeed + calls_++);
  FusedCall fused(call, dtype, products_);
  const SchemeCall::Result wanted = call.by_formulas();
  const SchemeCall::Result bounds = fused_bounds(call, wanted, dtype, products_);
  for (OfIsa& own : isas_) {
    const SchemeCall::Result is = fused.by_kernels(own.isa);
    for (std::size_t n = 0; n < is.out.size(); ++n) {
      own.out.add(std::abs(is.out[n] - wanted.out[n]), bounds.out[n], where);
    }
    for (std::size_t row = 0; row < is.lse.size(); ++row) {
      if (is.lse[row] == wanted.lse[row]) continue;  // -inf, too
      own.lse.add(std::abs(is.lse[row] - wanted.lse[row]), bounds.lse[row], where);
    }
  }
}

std::uint64_t FusedComparison::expect() const {
  for (const OfIsa& own : isas_) {
    own.out.expect();
    own.lse.expect();
  }
  return calls_;
}

}  // namespace posenc::test
