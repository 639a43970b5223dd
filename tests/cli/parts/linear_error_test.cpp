// The judge of `posenc attend --linear --check`: what attend_linear makes passes, on every instruction set, and what is
// a little wrong, or another formula, does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attend/attend_linear.h"
#include "posenc/attend_linear.h"
#include "posenc/rotate.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"
#include "support/random_tensor.h"

namespace posenc::tool::linear_error_test {
namespace {

using namespace posenc::test;

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kKvHeads = 2;
constexpr std::int64_t kChannels = 16;
constexpr std::int64_t kValueDim = 10;
constexpr std::uint64_t kSeed = 31415;

constexpr double kSpoilt = 20;  // what a mistake must stand out by, of its bound

LayerPlan layer_of(MaskKind mask) {
  LayerPlan layer{.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kChannels, .value_dim = kValueDim};
  layer.mask.kind = mask;
  Rope rope{.pairing = Pairing::half, .head_dim = kChannels, .dim = kChannels};
  rope.scaling = YarnScaling{.factor = 4.0, .original_max_position_embeddings = 64};
  layer.rotate.push_back({.heads = kHeads, .scheme = rope});
  return layer;
}

class Case {
 public:
  Case(MaskKind mask, std::int64_t queries, std::int64_t keys, double offset = 0.0)
      : queries_(queries), keys_(keys), layer_(layer_of(mask)) {
    Random random(kSeed);
    const auto numbers = [&](std::int64_t count) {
      std::vector<float> some(static_cast<std::size_t>(count));
      for (float& x : some) x = static_cast<float>(random.number() + offset);
      return some;
    };
    q = numbers(queries * kHeads * kChannels);
    k = numbers(keys * kKvHeads * kChannels);
    v = numbers(keys * kKvHeads * kValueDim);
    out.resize(static_cast<std::size_t>(queries * kHeads * kValueDim));
  }

  AttendCall call() const {
    return {.layer = layer_,
            .tables = tables_,
            .q = tensor(q.data(), {queries_, kHeads, kChannels}),
            .k = tensor(k.data(), {keys_, kKvHeads, kChannels}),
            .v = tensor(v.data(), {keys_, kKvHeads, kValueDim})};
  }
  void attend_all(FeatureMap map, Isa isa = Isa::automatic) {
    attend_linear_all(call(), map, tensor(out.data(), {queries_, kHeads, kValueDim}), {}, isa);
  }
  AttendError judged(FeatureMap map, std::int64_t products = kJudgedProducts) const {
    return judge_linear(call(), map, tensor(out.data(), {queries_, kHeads, kValueDim}), products);
  }
  LayerPlan& layer() { return layer_; }

  std::vector<float> q, k, v, out;

 private:
  std::int64_t queries_, keys_;
  LayerPlan layer_;
  LayerTables tables_;
};

constexpr FeatureMap kMaps[] = {FeatureMap::elu_plus_one, FeatureMap::identity, FeatureMap::relu};

TEST(LinearError, OfTheKernelsIsWithinTheBound) {
  for (const Isa isa : every_isa("posenc attend --linear --check")) {
    ErrorRatio ratio("the judge of linear attention, " + std::string(posenc::name(isa)));
    for (const MaskKind mask : {MaskKind::causal, MaskKind::bidirectional}) {
      for (const auto& [queries, keys] : {std::pair{9, 9}, {3, 130}, {20, 70}}) {
        for (const FeatureMap map : kMaps) {
          Case one(mask, queries, keys);
          one.attend_all(map, isa);
          const AttendError error = one.judged(map);
          const std::string which = std::string(name(map)) + ", " + std::to_string(keys) + " keys";
          ratio.add(error.over_bound, 1.0, which);
          EXPECT_EQ(error.tokens, queries) << which;
        }
      }
    }
    ratio.expect();
  }
}

// Features near 0 on one side, so that their own roundings count; and where exp comes out as 0.
TEST(LinearError, OfFeaturesNearZeroIsWithinTheBound) {
  for (const double offset : {-10.0, -45.0, -100.0}) {
    Case one(MaskKind::causal, 20, 20, offset);
    one.attend_all(FeatureMap::elu_plus_one);
    EXPECT_LE(one.judged(FeatureMap::elu_plus_one).over_bound, 1.0) << offset;
  }
}

TEST(LinearError, OfAnOutputThatIsALittleWrongIsAboveTheBound) {
  for (const FeatureMap map : {FeatureMap::elu_plus_one, FeatureMap::relu}) {
    Case one(MaskKind::causal, 20, 50);
    one.attend_all(map);
    float& spoilt = one.out[(7 * kHeads + 2) * kValueDim + 3];
    spoilt += 1e-3F * (1.0F + std::abs(spoilt));
    const AttendError error = one.judged(map);
    EXPECT_GT(error.over_bound, kSpoilt);
    EXPECT_EQ(error.row.token, 7);
    EXPECT_EQ(error.head, 2);
    EXPECT_EQ(error.channel, 3);
  }
}

// Another map, the mask that the layer does not have, and RoPE before the map, as some implementations have it.
TEST(LinearError, OfAnotherFormulaIsAboveTheBound) {
  Case one(MaskKind::causal, 20, 20);
  one.attend_all(FeatureMap::relu);
  EXPECT_GT(one.judged(FeatureMap::elu_plus_one).over_bound, kSpoilt);

  one.layer().mask.kind = MaskKind::bidirectional;
  one.attend_all(FeatureMap::elu_plus_one);
  one.layer().mask.kind = MaskKind::causal;
  EXPECT_GT(one.judged(FeatureMap::elu_plus_one).over_bound, kSpoilt);

  Case before(MaskKind::causal, 20, 20);
  const std::vector<Rotate> rotations = before.layer().rotate;
  const std::vector<float> q = before.q;
  const std::vector<float> k = before.k;
  const RotaryTable table = make_table(rope(rotations.front()), {.count = 20});
  (void)rotate({.q = tensor(before.q.data(), {20, kHeads, kChannels}),
                .k = tensor(before.k.data(), {20, kKvHeads, kChannels}),
                .positions = PositionRange{0},
                .table = &table});
  before.layer().rotate.clear();
  before.attend_all(FeatureMap::elu_plus_one);
  before.layer().rotate = rotations;
  before.q = q;
  before.k = k;
  EXPECT_GT(before.judged(FeatureMap::elu_plus_one).over_bound, kSpoilt);
}

TEST(LinearError, OfWhatIsNonFiniteIsSeen) {
  const float infinity = std::numeric_limits<float>::infinity();
  Case one(MaskKind::causal, 20, 20);
  one.v[(11 * kKvHeads + 1) * kValueDim + 4] = infinity;
  one.attend_all(FeatureMap::elu_plus_one);
  const AttendError right = one.judged(FeatureMap::elu_plus_one);
  EXPECT_LE(right.over_bound, 1.0);
  EXPECT_EQ(right.not_finite, 9 * 2);  // queries 11 to 19, of the two heads of that KV head, in one channel

  one.out[(15 * kHeads + 3) * kValueDim + 4] = 1.0F;  // a number where the key that is seen is none
  EXPECT_EQ(one.judged(FeatureMap::elu_plus_one).over_bound, HUGE_VAL);

  Case other(MaskKind::causal, 20, 20);
  other.attend_all(FeatureMap::elu_plus_one);
  other.out[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(other.judged(FeatureMap::elu_plus_one).over_bound, HUGE_VAL);
}

// A denominator that cancels has no bound, and is counted as such.
TEST(LinearError, OfADenominatorThatCancelsIsNotJudged) {
  Case one(MaskKind::bidirectional, 1, 2);
  for (std::size_t n = 0; n < one.k.size() / 2; ++n) one.k[one.k.size() / 2 + n] = -one.k[n];
  one.attend_all(FeatureMap::identity);
  const AttendError error = one.judged(FeatureMap::identity);
  EXPECT_EQ(error.not_finite, kHeads * kValueDim);
  EXPECT_EQ(error.over_bound, 0.0);
}

TEST(LinearError, OfASampleLooksAtTheLastQuery) {
  Case one(MaskKind::causal, 100, 100);
  one.attend_all(FeatureMap::elu_plus_one);
  one.out[(99 * kHeads) * kValueDim] += 1.0F;
  const AttendError error = one.judged(FeatureMap::elu_plus_one, 1);
  EXPECT_EQ(error.tokens, 1);
  EXPECT_GT(error.over_bound, kSpoilt);
}

}  // namespace
}  // namespace posenc::tool::linear_error_test
