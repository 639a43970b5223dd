// The four forms against each other, against numbers worked by hand, and the properties that make them rotations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "posenc/reference.h"
#include "support/tolerances.h"

namespace posenc::rotations_test {
namespace {

using testing::ElementsAre;
using Head = std::vector<double>;
using Form = Head (*)(const RotaryLayout&, std::span<const double>, std::span<const double>);

struct NamedForm {
  const char* name;
  Form rotate;
};
constexpr NamedForm kForms[] = {{"matrix", reference::rotate_matrix},
                                {"complex", reference::rotate_complex},
                                {"pairwise", reference::rotate_pairwise},
                                {"rotate_half", reference::rotate_half}};

constexpr unsigned kSeed = 20210420;

Head random_numbers(std::mt19937_64& random, std::size_t count, double largest) {
  std::uniform_real_distribution<double> uniform(-largest, largest);
  Head out(count);
  for (double& x : out) x = uniform(random);
  return out;
}

// Multiples of 2^-20: sums, and products with whole positions, are exact, so that no angle is rounded.
Head random_angles(std::mt19937_64& random, std::size_t count, double largest) {
  Head out = random_numbers(random, count, largest);
  for (double& angle : out) angle = std::round(angle * 0x1p20) * 0x1p-20;
  return out;
}

// Neumaier's compensated sum.
double dot(const Head& x, const Head& y) {
  double sum = 0;
  double lost = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    const double term = x[c] * y[c];
    const double next = sum + term;
    lost += std::abs(sum) >= std::abs(term) ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }
  return sum + lost;
}

double norm(const Head& x) { return std::sqrt(dot(x, x)); }

struct Subject {
  RotaryLayout layout;
  std::string name;
  std::size_t channels;
  std::size_t pairs;
};

// Both pairings, whole heads, the first channels, the last, and some between.
std::vector<Subject> subjects() {
  struct Shape {
    std::int64_t head_dim, first_channel, dim;
  };
  std::vector<Subject> all;
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    for (const auto& [head_dim, first, dim] : {Shape{2, 0, 2},
                                               {4, 0, 4},
                                               {64, 0, 64},
                                               {80, 0, 80},
                                               {64, 0, 16},
                                               {7, 0, 6},
                                               {7, 1, 6},
                                               {192, 128, 64},
                                               {12, 3, 6},
                                               {5, 3, 2}}) {
      const std::string name = (pairing == Pairing::half ? "half " : "interleaved ") + std::to_string(dim) + " of " +
                               std::to_string(head_dim) + " from " + std::to_string(first);
      all.push_back({{.pairing = pairing, .head_dim = head_dim, .first_channel = first, .dim = dim},
                     name,
                     static_cast<std::size_t>(head_dim),
                     static_cast<std::size_t>(dim / 2)});
    }
  }
  return all;
}

// Calls test(subject, form, name of both) for every layout and form.
template <typename Test>
void for_each_form(const Test& test) {
  for (const Subject& subject : subjects()) {
    for (const auto& [name, rotate] : kForms) test(subject, rotate, subject.name + ", " + name);
  }
}

TEST(Reference, FourFormsAgree) {
  std::mt19937_64 random(kSeed);
  for (int trial = 0; trial < 20; ++trial) {
    for_each_form([&](const Subject& s, Form rotate, const std::string& where) {
      const Head x = random_numbers(random, s.channels, 3.0);
      const Head angles = random_numbers(random, s.pairs, 1000.0);
      const Head expected = reference::rotate_pairwise(s.layout, x, angles);
      const Head got = rotate(s.layout, x, angles);
      ASSERT_EQ(got.size(), expected.size()) << where;
      for (std::size_t c = 0; c < s.channels; ++c) {
        EXPECT_NEAR(got[c], expected[c], 2 * test::rotation_bound(3.0)) << where << ", channel " << c;
      }
    });
  }
}

TEST(Reference, OtherChannelsAreCopied) {
  std::mt19937_64 random(kSeed);
  for_each_form([&](const Subject& s, Form rotate, const std::string& where) {
    const Head x = random_numbers(random, s.channels, 3.0);
    const Head got = rotate(s.layout, x, Head(s.pairs, 1.0));
    for (std::int64_t c = 0; c < s.layout.head_dim; ++c) {
      const bool rotates = c >= s.layout.first_channel && c < s.layout.first_channel + s.layout.dim;
      const auto i = static_cast<std::size_t>(c);
      EXPECT_EQ(got[i] != x[i], rotates) << where << ", channel " << c;
    }
  });
}

TEST(Reference, RotationsKeepTheNorm) {
  std::mt19937_64 random(kSeed);
  test::ErrorRatio ratio("norm after a rotation");
  for_each_form([&](const Subject& s, Form rotate, const std::string& where) {
    const Head x = random_numbers(random, s.channels, 1.0);
    const Head got = rotate(s.layout, x, random_numbers(random, s.pairs, 1000.0));
    ratio.add(std::abs(dot(got, got) - dot(x, x)), test::rotated_dot_bound(norm(x), norm(x), 2), where);
  });
  ratio.expect();
}

TEST(Reference, RotationsCompose) {
  std::mt19937_64 random(kSeed);
  test::ErrorRatio ratio("R(a) R(b) against R(a + b)");
  for_each_form([&](const Subject& s, Form rotate, const std::string& where) {
    const Head x = random_numbers(random, s.channels, 1.0);
    const Head a = random_angles(random, s.pairs, 1000.0);
    const Head b = random_angles(random, s.pairs, 1000.0);
    Head sum(s.pairs);
    std::transform(a.begin(), a.end(), b.begin(), sum.begin(), std::plus<>());
    const Head twice = rotate(s.layout, rotate(s.layout, x, a), b);
    const Head once = rotate(s.layout, x, sum);
    for (std::size_t c = 0; c < s.channels; ++c) {
      ratio.add(std::abs(twice[c] - once[c]), test::composition_bound(1.0), where);
    }
  });
  ratio.expect();
}

// The point of it all: q at i and k at j meet with i - j only.
TEST(Reference, ScoresDependOnTheDistanceOnly) {
  std::mt19937_64 random(kSeed);
  test::ErrorRatio ratio("score at a distance");
  for_each_form([&](const Subject& s, Form rotate, const std::string& where) {
    const Head q = random_numbers(random, s.channels, 1.0);
    const Head k = random_numbers(random, s.channels, 1.0);
    const Head inv_freq = random_angles(random, s.pairs, 1.0);
    const auto at = [&](const Head& x, double position) {
      Head angles = inv_freq;
      for (double& angle : angles) angle *= position;
      return rotate(s.layout, x, angles);
    };
    for (const double distance : {0.0, 1.0, 17.0, -5.0}) {
      const double expected = dot(at(q, distance), k);
      for (const double start : {1.0, 100.0, 900.0, -40.0}) {
        ratio.add(std::abs(dot(at(q, start + distance), at(k, start)) - expected),
                  test::rotated_dot_bound(norm(q), norm(k), 3), where);
      }
    }
  });
  ratio.expect();
}

TEST(Reference, TheMatrixIsOrthogonalAndTouchesPairsOnly) {
  std::mt19937_64 random(kSeed);
  for (const Subject& s : subjects()) {
    const Head r = reference::rotation_matrix(s.layout, random_numbers(random, s.pairs, 1000.0));
    ASSERT_EQ(r.size(), s.channels * s.channels) << s.name;
    for (std::size_t i = 0; i < s.channels; ++i) {
      std::size_t touched = 0;
      for (std::size_t j = 0; j < s.channels; ++j) {
        double product = 0;
        for (std::size_t c = 0; c < s.channels; ++c) product += r[c * s.channels + i] * r[c * s.channels + j];
        EXPECT_NEAR(product, i == j ? 1 : 0, test::rotation_bound(1.0)) << s.name << ": " << i << ", " << j;
        touched += r[i * s.channels + j] != 0 ? 1U : 0U;
      }
      EXPECT_LE(touched, 2U) << s.name << ": row " << i;
    }
  }
}

TEST(Reference, AngleZeroChangesNothing) {
  std::mt19937_64 random(kSeed);
  for_each_form([&](const Subject& s, Form rotate, const std::string& where) {
    const Head x = random_numbers(random, s.channels, 3.0);
    EXPECT_EQ(rotate(s.layout, x, Head(s.pairs, 0.0)), x) << where;
  });
}

TEST(Reference, ShapesThatDoNotFitAreRefused) {
  for_each_form([&](const Subject& s, Form rotate, const std::string& where) {
    const Head x(s.channels, 1.0);
    const Head angles(s.pairs, 1.0);
    EXPECT_THROW((void)rotate(s.layout, Head(s.channels + 1, 1.0), angles), Error) << where;
    EXPECT_THROW((void)rotate(s.layout, Head(s.channels - 1, 1.0), angles), Error) << where;
    EXPECT_THROW((void)rotate(s.layout, x, Head(s.pairs + 1, 1.0)), Error) << where;
    EXPECT_THROW((void)rotate(s.layout, x, Head(s.pairs - 1, 1.0)), Error) << where;
    RotaryLayout broken = s.layout;
    broken.first_channel = s.layout.head_dim - s.layout.dim + 1;
    EXPECT_THROW((void)rotate(broken, x, angles), Error) << where;
    broken = s.layout;
    broken.dim = s.layout.dim - 1;
    EXPECT_THROW((void)rotate(broken, x, angles), Error) << where;
    EXPECT_THROW((void)reference::rotation_matrix(s.layout, Head(s.pairs + 1, 1.0)), Error) << where;
  });
}

// A quarter turn takes (a, b) to (-b, a): counter-clockwise. By hand, exact but for cos(pi/2) = 6e-17.
TEST(Reference, QuarterTurnByHand) {
  const Head x{1, 2, 3, 4, 5, 6, 7};
  const Head angles{std::numbers::pi / 2, 0, std::numbers::pi};
  const auto near = [](double value) { return testing::DoubleNear(value, test::rotation_bound(7)); };
  for (const auto& [name, rotate] : kForms) {
    SCOPED_TRACE(name);
    // Channels 1..6 rotate. half: pairs (2, 5), (3, 6), (4, 7).
    EXPECT_THAT(rotate({.pairing = Pairing::half, .head_dim = 7, .first_channel = 1, .dim = 6}, x, angles),
                ElementsAre(1, near(-5), near(3), near(-4), near(2), near(6), near(-7)));
    // interleaved: pairs (2, 3), (4, 5), (6, 7).
    EXPECT_THAT(rotate({.pairing = Pairing::interleaved, .head_dim = 7, .first_channel = 1, .dim = 6}, x, angles),
                ElementsAre(1, near(-3), near(2), near(4), near(5), near(-6), near(-7)));
  }
}

// Hugging Face's permutation of the rows of q and k turns one pairing into the other.
TEST(Reference, PermutedChannelsRotateOnePairingIntoTheOther) {
  std::mt19937_64 random(kSeed);
  const Head x = random_numbers(random, 16, 1.0);
  const Head angles = random_numbers(random, 8, 10.0);
  const auto to_half = [](const Head& interleaved) {
    Head half(16);
    for (std::size_t p = 0; p < 8; ++p) {
      half[p] = interleaved[2 * p];
      half[p + 8] = interleaved[2 * p + 1];
    }
    return half;
  };
  for (const auto& [name, rotate] : kForms) {
    const Head interleaved = rotate({.pairing = Pairing::interleaved, .head_dim = 16, .dim = 16}, x, angles);
    EXPECT_EQ(rotate({.pairing = Pairing::half, .head_dim = 16, .dim = 16}, to_half(x), angles), to_half(interleaved))
        << name;
  }
}

}  // namespace
}  // namespace posenc::rotations_test
