// diagnose_pairing(): rows that are made as training makes them, in both orders, and rows that are random.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "posenc/diagnose_weights.h"
#include "posenc/error.h"

namespace posenc::test {
namespace {

constexpr std::size_t kWidth = 32, kInputs = 48, kHeads = 12;

struct Rows {
  std::vector<double> q, k;
};

// Each pair of a KV head wants its mean query and key alike or opposite, along a direction of its plane of its own.
Rows trained(Pairing pairing, double strength, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Rows out{std::vector<double>(kHeads * kWidth * kInputs), std::vector<double>(kHeads * kWidth * kInputs)};
  for (std::size_t n = 0; n < out.q.size(); ++n) {
    out.q[n] = normal(random);
    out.k[n] = normal(random);
  }
  std::vector<double> mean(kInputs);
  for (double& x : mean) x = normal(random);
  for (std::size_t h = 0; h < kHeads; ++h) {
    for (std::size_t p = 0; p < kWidth / 2; ++p) {
      const std::size_t a = pairing == Pairing::half ? p : 2 * p;
      const std::size_t b = pairing == Pairing::half ? p + kWidth / 2 : 2 * p + 1;
      const double turn = 3.14159 * normal(random);
      const double sign = normal(random) > 0 ? 1 : -1;
      for (std::size_t c = 0; c < kInputs; ++c) {
        const auto at = [&](std::size_t channel) { return (h * kWidth + channel) * kInputs + c; };
        out.q[at(a)] += strength * std::cos(turn) * mean[c];
        out.q[at(b)] += strength * std::sin(turn) * mean[c];
        out.k[at(a)] += sign * strength * std::cos(turn) * mean[c];
        out.k[at(b)] += sign * strength * std::sin(turn) * mean[c];
      }
    }
  }
  return out;
}

PairingDiagnosis diagnosed(const Rows& rows) {
  const auto view = [](const std::vector<double>& x) {
    return tensor(x.data(), {static_cast<std::int64_t>(kHeads * kWidth), static_cast<std::int64_t>(kInputs)});
  };
  const std::vector<QueryKeyRows> layers{
      {.q = view(rows.q), .k = view(rows.k), .head_dim = kWidth, .first_channel = 0, .dim = kWidth}};
  return diagnose_pairing(layers);
}

TEST(diagnose_pairing, tells_the_order_that_was_trained) {
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    const PairingDiagnosis d = diagnosed(trained(pairing, 1.0, 7));
    EXPECT_EQ(d.pairing, pairing) << describe(d);
    EXPECT_GT(d.confidence, 0.998);
    EXPECT_EQ(d.kv_heads, static_cast<std::int64_t>(kHeads));
  }
}

TEST(diagnose_pairing, cannot_tell_of_random_rows) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const PairingDiagnosis d = diagnosed(trained(Pairing::half, 0.0, seed));
    EXPECT_FALSE(d.pairing) << "seed " << seed << "\n" << describe(d);
    EXPECT_TRUE(describe(d).starts_with("cannot tell\n"));
  }
}

// Random rows that all heads share but for a little: as many heads as there are say one and the same by chance.
TEST(diagnose_pairing, cannot_tell_of_random_rows_that_heads_share) {
  int told = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rows rows = trained(Pairing::half, 0.0, seed);
    for (std::vector<double>* of : {&rows.q, &rows.k}) {
      for (std::size_t n = kWidth * kInputs; n < of->size(); ++n) {
        (*of)[n] = (*of)[n % (kWidth * kInputs)] + 1e-3 * (*of)[n];
      }
    }
    const PairingDiagnosis d = diagnosed(rows);
    if (d.pairing) ++told;
  }
  EXPECT_EQ(told, 0);
}

TEST(diagnose_pairing, refuses_what_does_not_fit) {
  const Rows rows = trained(Pairing::half, 1.0, 1);
  QueryKeyRows layer{
      .q = tensor(rows.q.data(), {384, 48}), .k = tensor(rows.k.data(), {384, 48}), .head_dim = 32, .dim = 32};
  const auto refused = [](QueryKeyRows of) { EXPECT_THROW((void)diagnose_pairing(std::span(&of, 1)), Error); };
  QueryKeyRows other = layer;
  other.head_dim = 33;
  refused(other);
  other = layer;
  other.dim = 34;
  refused(other);
  other = layer;
  other.k.shape[1] = 47;
  refused(other);
  other = layer;
  other.q.rank = 3;
  refused(other);
  std::vector<double> infinite = rows.q;
  infinite[5] = HUGE_VAL;
  other = layer;
  other.q.data = infinite.data();
  refused(other);
  EXPECT_FALSE(diagnose_pairing({}).pairing);
}

}  // namespace
}  // namespace posenc::test
