// attend on quantised caches against the reference on the numbers that they hold: every format of keys and of values,
// under every scheme and mask, at decode and prefill, in rows, batches and pages, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "attend/quantised/quantised_call.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"

namespace posenc::test::quantised_test {
namespace {

constexpr std::uint64_t kSeed = 20251128;

constexpr std::array kKeyFormats{CacheFormat::int8,
                                 CacheFormat::int8_asymmetric,
                                 CacheFormat::int4,
                                 CacheFormat::int4_asymmetric,
                                 CacheFormat::fp8_e4m3,
                                 CacheFormat::fp8_e5m2,
                                 CacheFormat::int4_by_channel,
                                 CacheFormat::q8_0,
                                 CacheFormat::q4_0,
                                 CacheFormat::q5_1};
constexpr std::array kValueFormats{CacheFormat::int8_asymmetric,
                                   CacheFormat::int8,
                                   CacheFormat::int4_asymmetric,
                                   CacheFormat::fp8_e5m2,
                                   CacheFormat::fp8_e4m3,
                                   CacheFormat::int4,
                                   CacheFormat::q4_0,
                                   CacheFormat::q5_1,
                                   CacheFormat::q8_0};

class Comparison {
 public:
  explicit Comparison(const std::string& suite) {
    for (const Isa isa : every_isa(suite)) {
      const std::string own = suite + ", " + std::string(name(isa));
      isas_.push_back({isa, ErrorRatio(own), ErrorRatio(own + ", lse")});
    }
  }

  void compare(const SchemeCase& scheme, const Arrangement& arrangement, Places places, const QuantisedWay& way,
               std::int64_t threads = 1) {
    if (!fits(scheme, arrangement, places)) return;
    const auto sums_gates = [](const ScoreTerm& term) { return std::holds_alternative<ContextualPosition>(term); };
    if (arrangement.orders_are_given && std::ranges::any_of(scheme.layer.score, sums_gates)) return;
    SchemeCall call(scheme, arrangement, places, kSeed + calls_);
    if (!QuantisedCall::fits(call, way)) return;
    const QuantisedCall quantised(call, way);
    const std::string where = scheme.name + ", " + arrangement.name + " " + std::to_string(arrangement.queries) + "/" +
                              std::to_string(arrangement.keys) + ", " + quantised.text() + ", seed " +
                              std::to_string(kSeed + calls_++);
    SCOPED_TRACE(where);
    const SchemeCall::Result wanted = call.by_formulas();
    const SchemeCall::Result bounds = quantised.bounds(wanted);
    for (OfIsa& own : isas_) {
      const SchemeCall::Result is = quantised.by_kernels(own.isa, threads);
      for (std::size_t n = 0; n < is.out.size(); ++n) {
        own.out.add(std::abs(is.out[n] - wanted.out[n]), bounds.out[n], where);
      }
      for (std::size_t row = 0; row < is.lse.size(); ++row) {
        if (is.lse[row] == wanted.lse[row]) continue;  // -inf, too
        own.lse.add(std::abs(is.lse[row] - wanted.lse[row]), bounds.lse[row], where);
      }
    }
  }

  // Two keys, of which the first query sees one, whose value comes out: what bounds of many keys are too loose for.
  void compare_two_keys(const SchemeCase& scheme, std::int64_t block_size) {
    const Arrangement two{.name = "two keys", .mask = {.kind = MaskKind::causal}, .queries = 2, .keys = 2};
    for (const CacheFormat v : kValueFormats) {
      compare(scheme, two, Places::run, {.k = CacheFormat::int8, .v = v, .block_size = block_size});
    }
  }

  std::uint64_t expect() const {
    for (const OfIsa& own : isas_) {
      own.out.expect();
      own.lse.expect();
    }
    return calls_;
  }

 private:
  struct OfIsa {
    Isa isa;
    ErrorRatio out;
    ErrorRatio lse;
  };
  std::vector<OfIsa> isas_;
  std::uint64_t calls_ = 0;
};

SchemeCase rotated(Pairing pairing, std::int64_t head_dim, std::int64_t dim, std::int64_t first_channel) {
  SchemeCase scheme{
      .name = std::to_string(head_dim) + " channels, " + std::to_string(dim) + " rotated from " +
              std::to_string(first_channel) + (pairing == Pairing::half ? ", half" : ", interleaved"),
      .layer = with_rotation({.pairing = pairing, .head_dim = head_dim, .first_channel = first_channel, .dim = dim})};
  scheme.layer.head_dim = head_dim;
  scheme.layer.value_dim = head_dim;
  scheme.layer.softmax_scale = 1 / std::sqrt(static_cast<double>(head_dim));
  return scheme;
}

// Formats take turns, so that each meets every scheme's kind and every mask.
TEST(Quantised, IsTheReferenceForEverySchemeAndMask) {
  Comparison all("quantised caches under every scheme and mask");
  std::size_t turn = 0;
  for (const SchemeCase& scheme : all_schemes()) {
    for (const Arrangement& arrangement : arrangements()) {
      all.compare(scheme, arrangement, turn % 2 == 0 ? Places::run : Places::scattered,
                  {.k = kKeyFormats[turn % 7], .v = kValueFormats[turn % 6]});
      ++turn;
    }
  }
  EXPECT_GT(all.expect(), 300U);
}

// Keys that are stored unrotated, and rotated on load: channels in pairs of either kind, all of them or some, from a
// channel where blocks begin or not.
TEST(Quantised, RotatesOnLoad) {
  Comparison on_load("quantised caches rotated on load");
  const std::vector<SchemeCase> schemes{
      rotated(Pairing::half, 128, 128, 0),        rotated(Pairing::interleaved, 128, 128, 0),
      rotated(Pairing::half, 64, 64, 0),          rotated(Pairing::half, 96, 64, 32),
      rotated(Pairing::interleaved, 96, 64, 32),  rotated(Pairing::half, 64, 20, 0),
      rotated(Pairing::interleaved, 64, 20, 6),   rotated(Pairing::half, 192, 128, 64),
      rotated(Pairing::interleaved, 160, 96, 16),
  };
  std::size_t turn = 0;
  for (const SchemeCase& scheme : schemes) {
    for (const CacheFormat k : kKeyFormats) {
      for (const std::int64_t queries : {1, 2, 9}) {
        const Arrangement causal{.name = "causal",
                                 .mask = {.kind = MaskKind::causal},
                                 .batch = turn % 3 == 0 ? 2 : 0,
                                 .queries = queries,
                                 .keys = turn % 2 == 0 ? 70 : 129};
        on_load.compare(scheme, causal, turn % 2 == 0 ? Places::run : Places::scattered,
                        {.k = k,
                         .v = kValueFormats[turn % kValueFormats.size()],
                         .padding = turn % 5 == 0 ? 3 : 0,
                         .channel_scales = turn % 2 == 0 ? DType::f32 : DType::f16,
                         .guard = turn % 2 == 0 ? Edge::begin : Edge::end});
        ++turn;
      }
    }
  }
  on_load.compare_two_keys(schemes[2], 0);
  EXPECT_GT(on_load.expect(), 200U);
}

// Heads of every width, and lengths beyond those that decode cuts in parts, by two threads.
TEST(Quantised, TakesEveryWidth) {
  Comparison wide("quantised heads of every width");
  std::size_t turn = 0;
  for (const std::int64_t width : {16, 17, 32, 40, 64, 72, 128, 256, 576}) {
    SchemeCase scheme{.name = std::to_string(width) + " channels", .layer = plain_layer()};
    scheme.layer.head_dim = width;
    scheme.layer.value_dim = width;
    scheme.layer.softmax_scale = 1 / std::sqrt(static_cast<double>(width));
    for (const CacheFormat k : kKeyFormats) {
      for (const std::int64_t queries : {1, 20}) {
        const Arrangement causal{.name = "causal",
                                 .mask = {.kind = MaskKind::causal},
                                 .queries = queries,
                                 .keys = queries == 1 && width == 64 ? 2060 : 66};
        if (k == CacheFormat::int8) wide.compare_two_keys(scheme, 0);
        wide.compare(scheme, causal, Places::run, {.k = k, .v = kValueFormats[turn++ % kValueFormats.size()]}, 2);
      }
    }
  }
  EXPECT_GT(wide.expect(), 100U);
}

TEST(Quantised, TakesPages) {
  Comparison paged("quantised pages");
  std::size_t turn = 0;
  for (const SchemeCase& scheme : {rotated(Pairing::half, 64, 64, 0), rotated(Pairing::interleaved, 64, 32, 32)}) {
    for (const CacheFormat k : kKeyFormats) {
      for (const std::int64_t block_size : {16, 24, 64}) {
        const Arrangement causal{.name = "causal",
                                 .mask = {.kind = MaskKind::causal},
                                 .queries = turn % 2 == 0 ? 1 : 7,
                                 .keys = block_size == 24 ? 120 : 192};
        paged.compare(scheme, causal, Places::run,
                      {.k = k, .v = kValueFormats[turn % kValueFormats.size()], .block_size = block_size});
        ++turn;
      }
    }
  }
  paged.compare_two_keys(rotated(Pairing::half, 64, 64, 0), 16);
  EXPECT_EQ(paged.expect(), 60U + kValueFormats.size());
}

}  // namespace
}  // namespace posenc::test::quantised_test
