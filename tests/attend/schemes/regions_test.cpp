// SelfExtend, ReRoPE and dual chunk attention: distances as the papers draw them, and scores as their programs merge
// them from several whole attentions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/matrix.h"
#include "posenc/reference.h"
#include "support/ropes.h"
#include "support/tolerances.h"

namespace posenc::test::regions_test {
namespace {

constexpr double kSteps = 16.0;  // of a token, for a radian

// One pair of channels that rotates 1/16 of a radian a step, and two heads: keys (1, 0) and (0, 1) show a query (1, 0)
// the cosine and the sine of its distance.
Matrix distances(const Regions& regions, std::int64_t tokens) {
  LayerPlan layer = bare_layer(2, 2);
  layer.rotate.push_back({.heads = 2, .scheme = plain_rope(2, 10000.0, LinearScaling{.factor = kSteps})});
  layer.regions = regions;
  Tensor q = zeros({tokens, 2, 2});
  Tensor k = zeros({tokens, 2, 2});
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto first = static_cast<std::size_t>(4 * t);
    q.values[first] = q.values[first + 2] = 1.0;
    k.values[first] = k.values[first + 3] = 1.0;
  }
  const Attended got = attended(layer, {.q = q, .k = k, .v = zeros({tokens, 2, 1}), .stage = ScoreStage::content});
  Matrix out{.rows = tokens, .columns = tokens};
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t j = 0; j < tokens; ++j) {
      out(i, j) = kSteps * std::atan2(got.score(1, i, j), got.score(0, i, j));
    }
  }
  return out;
}

// A row a query, a digit a key, up to the query's own.
void expect_drawing(const Regions& regions, const std::vector<std::string>& drawing) {
  const Matrix got = distances(regions, std::ssize(drawing));
  for (std::int64_t i = 0; i < got.rows; ++i) {
    const std::string& row = drawing[static_cast<std::size_t>(i)];
    ASSERT_EQ(std::ssize(row), i + 1);
    for (std::int64_t j = 0; j <= i; ++j) {
      EXPECT_NEAR(got(i, j), row[static_cast<std::size_t>(j)] - '0', angle_distance_bound(kSteps)) << i << " " << j;
    }
  }
}

// Groups of 2, a window of 4, 10 tokens: figure 2 of arXiv 2401.01325. The last query's grouped place is 4 + 4 - 2 = 6,
// those of keys 0 0 1 1 2 2.
TEST(SelfExtend, DrawsThePapersFigure) {
  expect_drawing(SelfExtend{.group = 2, .window = 4}, {"0",         //
                                                       "10",        //
                                                       "210",       //
                                                       "3210",      //
                                                       "43210",     //
                                                       "443210",    //
                                                       "5543210",   //
                                                       "55443210",  //
                                                       "665543210", "6655443210"});
}

// Groups of 3 do not divide the window: floor(4 / 3) = 1 is taken off. Queries 4 and 5 stand at 1 + 4 - 1 = 4, query 6
// at 5; keys 0 to 2 at 0.
TEST(SelfExtend, FloorsTheWindowsGroups) {
  expect_drawing(SelfExtend{.group = 3, .window = 4}, {"0", "10", "210", "3210", "43210", "443210", "5553210"});
}

TEST(ReRope, DrawsAConstantBeyondTheWindow) {
  expect_drawing(ReRope{.window = 4}, {"0", "10", "210", "3210", "43210", "443210", "4443210", "44443210"});
}

// From the window on half a step each: 4, 4.5, 5, 5.5.
TEST(ReRope, GoesOnSlowlyWhereItLeaks) {
  const Matrix got = distances(ReRope{.window = 4, .step = 2.0}, 8);
  const std::vector<double> wanted{5.5, 5, 4.5, 4, 3, 2, 1, 0};
  for (std::int64_t j = 0; j < 8; ++j)
    EXPECT_NEAR(got(7, j), wanted[static_cast<std::size_t>(j)], angle_distance_bound(kSteps));
}

// Chunks of 6, a trained length of 10, so 4 local: figure 2 of arXiv 2402.17463. Keys stand at 0 to 5 in every chunk,
// queries at 0 to 5 for their own, at 6 7 8 9 9 9 for the one before, at 9 for all others.
TEST(DualChunk, DrawsThePapersFigure) {
  expect_drawing(DualChunk{.chunk = 6, .local = 4, .trained = 10},
                 {"0", "10", "210", "3210", "43210", "543210", "6543210", "76543210", "876543210", "9876543210",
                  "98765443210", "987654543210", "9876546543210", "98765476543210", "987654876543210",
                  "9876549876543210", "98765498765443210", "987654987654543210"});
}

// ChunkLlama and vLLM end at their chunk_size, 10, and not at 9: chunk_size 10 and local_size 4 are chunks of 6 and a
// trained length of 11.
TEST(DualChunk, GoesAStepFartherInVllm) {
  const Matrix got = distances(DualChunk{.chunk = 6, .local = 4, .trained = 11}, 18);
  const std::vector<double> last{10, 9, 8, 7, 6, 5, 10, 9, 8, 7, 6, 5, 5, 4, 3, 2, 1, 0};
  for (std::int64_t j = 0; j < 18; ++j)
    EXPECT_NEAR(got(17, j), last[static_cast<std::size_t>(j)], angle_distance_bound(kSteps));
}

// Keys in the future are as near as they are.
TEST(Regions, LeaveTheFutureAlone) {
  for (const Regions& regions : {Regions{SelfExtend{.group = 2, .window = 4}}, Regions{ReRope{.window = 4}},
                                 Regions{DualChunk{.chunk = 4, .local = 2, .trained = 6}}}) {
    const Matrix got = distances(regions, 10);
    for (std::int64_t i = 0; i < 10; ++i) {
      for (std::int64_t j = i; j < 10; ++j) {
        EXPECT_NEAR(got(i, j), static_cast<double>(i - j), angle_distance_bound(kSteps)) << i << " " << j;
      }
    }
  }
}

constexpr std::int64_t kTokens = 21;
constexpr std::int64_t kHeadDim = 8;

using Places = std::vector<double>;
using Place = std::function<double(std::int64_t)>;

Places places(const Place& of_token) {
  Places out;
  for (std::int64_t t = 0; t < kTokens; ++t) out.push_back(of_token(t));
  return out;
}

// apply_rotary_pos_emb to both sides, each at places of its own, and q k^T.
Matrix attention(const Rope& rope, const Tensor& q, const Place& q_place, const Tensor& k, const Place& k_place) {
  const auto rotated = [&](const Tensor& x, const Places& at) {
    Tensor out = zeros({kTokens, 1, kHeadDim});
    (void)reference::rotate(rope, {.out = out.writable(), .x = x, .positions = std::span<const double>(at)});
    return head_of(out, 0);
  };
  return product(rotated(q, places(q_place)), transposed(rotated(k, places(k_place))));
}

struct Asked {
  Random random{2401};
  Rope rope = plain_rope(kHeadDim, 100.0);
  Tensor q = random_tensor(random, {kTokens, 1, kHeadDim});
  Tensor k = random_tensor(random, {kTokens, 1, kHeadDim});

  Matrix at(const Place& q_place, const Place& k_place) const { return attention(rope, q, q_place, k, k_place); }
};

// The layer's scores of visible keys are those of the attention that `which` names for each query and key.
void expect_merged(const Asked& asked, const Regions& regions,
                   const std::function<const Matrix&(std::int64_t, std::int64_t)>& which) {
  LayerPlan layer = bare_layer(1, kHeadDim);
  layer.rotate.push_back({.heads = 1, .scheme = asked.rope});
  layer.regions = regions;
  const Attended got =
      attended(layer, {.q = asked.q, .k = asked.k, .v = zeros({kTokens, 1, 1}), .stage = ScoreStage::content});
  const Matrix q = head_of(asked.q, 0);
  const Matrix k = head_of(asked.k, 0);
  for (std::int64_t i = 0; i < kTokens; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double size = length_of(q, i) * length_of(k, j);
      // Two rotations either way, and two sums of products.
      EXPECT_NEAR(got.score(0, i, j), which(i, j)(i, j), same_score(size, kRotatedTwice + kHeadDim)) << i << " " << j;
    }
  }
}

// self_extend_forward: positions // group, the queries' moved by window - window // group; neighbours where i - j is
// below the window.
TEST(SelfExtend, MergesTwoAttentions) {
  constexpr std::int64_t kGroup = 3;
  constexpr std::int64_t kWindow = 7;
  const Asked asked;
  const auto own = [](std::int64_t t) { return static_cast<double>(t); };
  const Matrix neighbor = asked.at(own, own);
  const Matrix group =
      asked.at([](std::int64_t t) { return static_cast<double>(t / kGroup + kWindow - kWindow / kGroup); },
               [](std::int64_t t) { return static_cast<double>(t / kGroup); });
  expect_merged(asked, SelfExtend{.group = kGroup, .window = kWindow},
                [&](std::int64_t i, std::int64_t j) -> const Matrix& { return i - j < kWindow ? neighbor : group; });
}

// rerope_patch: queries rotated by position * 0 + window meet keys that are not rotated.
TEST(ReRope, MergesTwoAttentions) {
  constexpr std::int64_t kWindow = 6;
  const Asked asked;
  const auto own = [](std::int64_t t) { return static_cast<double>(t); };
  const Matrix near = asked.at(own, own);
  const Matrix far =
      asked.at([](std::int64_t) { return static_cast<double>(kWindow); }, [](std::int64_t) { return 0.0; });
  expect_merged(asked, ReRope{.window = kWindow},
                [&](std::int64_t i, std::int64_t j) -> const Matrix& { return i - j < kWindow ? near : far; });
}

// leaky_rerope_patch: frequencies divided by the step, queries moved on by window (step - 1), in the shorter steps.
TEST(ReRope, MergesTwoAttentionsWhereItLeaks) {
  constexpr std::int64_t kWindow = 6;
  constexpr double kStep = 4.0;
  const Asked asked;
  const auto own = [](std::int64_t t) { return static_cast<double>(t); };
  const Matrix near = asked.at(own, own);
  Rope slow = asked.rope;
  slow.scaling = LinearScaling{.factor = kStep};
  const Matrix far = attention(
      slow, asked.q, [](std::int64_t t) { return static_cast<double>(t) + kWindow * (kStep - 1); }, asked.k, own);
  expect_merged(asked, ReRope{.window = kWindow, .step = kStep},
                [&](std::int64_t i, std::int64_t j) -> const Matrix& { return i - j < kWindow ? near : far; });
}

// ChunkLlama: positions of keys begin anew in each chunk of chunk_size - local_size; queries' do for their own chunk,
// go on to chunk_size at most for the one before, and stand at chunk_size for all others.
TEST(DualChunk, MergesThreeAttentions) {
  constexpr std::int64_t kChunkSize = 8;
  constexpr std::int64_t kLocalSize = 3;
  constexpr std::int64_t kChunkLen = kChunkSize - kLocalSize;
  const Asked asked;
  const auto in_chunk = [](std::int64_t t) { return static_cast<double>(t % kChunkLen); };
  const Matrix intra = asked.at(in_chunk, in_chunk);
  const Matrix succ = asked.at(
      [&](std::int64_t t) { return std::min<double>(static_cast<double>(t % kChunkLen + kChunkLen), kChunkSize); },
      in_chunk);
  const Matrix inter = asked.at([](std::int64_t) { return static_cast<double>(kChunkSize); }, in_chunk);
  expect_merged(asked, DualChunk{.chunk = kChunkLen, .local = kLocalSize, .trained = kChunkSize + 1},
                [&](std::int64_t i, std::int64_t j) -> const Matrix& {
                  const std::int64_t between = i / kChunkLen - j / kChunkLen;
                  return between == 0 ? intra : between == 1 ? succ : inter;
                });
}

}  // namespace
}  // namespace posenc::test::regions_test
