// The rotation matrix and the score that are printed in seed 004.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "math/config_to_rope.h"
#include "posenc/reference.h"
#include "support/test_data.h"
#include "support/tolerances.h"

namespace posenc::seeds_test {
namespace {

constexpr const char* kSeeds = "golden/seeds.json";
using Numbers = std::vector<double>;

class RotationMatrixSeed : public testing::Test {
 protected:
  void SetUp() override {
    POSENC_NEED_DATA(kSeeds);
    document_ = test::read_json(test::test_data() / kSeeds);
    const test::Json& seed = document_["rotation_matrix_half_layout"];
    layout.head_dim = layout.dim = seed["d"].GetInt64();
    m = radians(seed["angles_m_deg"]);
    n = radians(seed["angles_n_deg"]);
    for (std::size_t p = 0; p < m.size(); ++p) difference.push_back(n[p] - m[p]);
    for (const test::Json& row : seed["R_n_minus_m"].GetArray()) {
      for (const double value : test::numbers(row)) expected.push_back(value);
    }
    q = test::numbers(seed["q"]);
    k = test::numbers(seed["k"]);
    score = seed["q_dot_RmT_Rn_k"].GetDouble();
  }

  static Numbers radians(const test::Json& degrees) {
    Numbers out = test::numbers(degrees);
    for (double& angle : out) angle *= std::numbers::pi / 180;
    return out;
  }

  RotaryLayout layout{.pairing = Pairing::half};
  Numbers m, n, difference;
  Numbers expected;  // [4, 4]
  Numbers q, k;
  double score = 0;

 private:
  rapidjson::Document document_;
};

double dot(const Numbers& x, const Numbers& y) {
  double sum = 0;
  for (std::size_t c = 0; c < x.size(); ++c) sum += x[c] * y[c];
  return sum;
}

TEST_F(RotationMatrixSeed, MatrixOfTheDifference) {
  const Numbers got = reference::rotation_matrix(layout, difference);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], test::printed_decimals(4)) << i;
}

TEST_F(RotationMatrixSeed, TransposeTimesMatrixIsTheMatrixOfTheDifference) {
  const Numbers r_m = reference::rotation_matrix(layout, m);
  const Numbers r_n = reference::rotation_matrix(layout, n);
  const Numbers r = reference::rotation_matrix(layout, difference);
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      double product = 0;
      for (std::size_t c = 0; c < 4; ++c) product += r_m[c * 4 + row] * r_n[c * 4 + column];
      EXPECT_NEAR(product, expected[row * 4 + column], test::printed_decimals(4));
      EXPECT_NEAR(product, r[row * 4 + column], test::rotation_bound(1.0));
    }
  }
}

TEST_F(RotationMatrixSeed, ScoreOfQueryAndKey) {
  const double of_difference = dot(q, reference::rotate_matrix(layout, k, difference));
  const double of_both = dot(reference::rotate_matrix(layout, q, m), reference::rotate_matrix(layout, k, n));
  EXPECT_NEAR(of_difference, score, test::printed_decimals(4));
  EXPECT_NEAR(of_both, score, test::printed_decimals(4));
  EXPECT_NEAR(of_both, of_difference, test::rotated_dot_bound(std::sqrt(dot(q, q)), std::sqrt(dot(k, k)), 3));
}

}  // namespace
}  // namespace posenc::seeds_test
