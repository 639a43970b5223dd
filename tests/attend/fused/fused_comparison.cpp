#include "attend/fused/fused_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <variant>

namespace posenc::test {
namespace {

constexpr std::uint64_t kSeed = 20250301;

// Gates are summed along ascending orders only.
bool sums_gates(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score,
                             [](const ScoreTerm& term) { return std::holds_alternative<ContextualPosition>(term); });
}

}  // namespace

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
