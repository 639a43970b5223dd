// attend against the reference, every scheme under every mask, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "attend/fused_call.h"
#include "attend/scheme_call.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"
#include "support/tolerances.h"

namespace posenc::test {
namespace {

constexpr Places kNear[] = {Places::by_order, Places::run, Places::scattered, Places::real};

// Those are summed along ascending orders only.
bool sums_gates(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score,
                             [](const ScoreTerm& term) { return std::holds_alternative<ContextualPosition>(term); });
}

TEST(Fused, Sketch) {
  std::map<std::string, double> worst;
  for (const Isa isa : supported_isas()) {
    std::uint64_t seed = 7;
    for (const SchemeCase& scheme : all_schemes()) {
      for (const Arrangement& arrangement : arrangements()) {
        for (const Places places : kNear) {
          if (!fits(scheme, arrangement, places)) continue;
          if (arrangement.orders_are_given && sums_gates(scheme.layer)) continue;
          SchemeCall call(scheme, arrangement, places, seed++);
          FusedCall fused(call);
          const SchemeCall::Result is = fused.by_kernels(isa);
          const SchemeCall::Result wanted = fused.by_formulas();
          double most = 0;
          for (std::size_t n = 0; n < is.out.size(); ++n) {
            const double d = std::abs(is.out[n] - wanted.out[n]);
            most = std::max(most, std::isnan(d) ? 1e9 : d);
          }
          for (std::size_t n = 0; n < is.lse.size(); ++n) {
            if (is.lse[n] == wanted.lse[n]) continue;
            const double d = std::abs(is.lse[n] - wanted.lse[n]);
            most = std::max(most, std::isnan(d) ? 1e9 : d);
          }
          const std::string key = std::string(name(isa)) + " " + scheme.name;
          if (most > 1e-4) std::printf("%s, %s, places %d: %g\n", key.c_str(), arrangement.name.c_str(), int(places), most);
          worst[key] = std::max(worst[key], most);
        }
      }
    }
  }
  for (const auto& [key, most] : worst) std::printf("%-40s %g\n", key.c_str(), most);
}

}  // namespace
}  // namespace posenc::test
