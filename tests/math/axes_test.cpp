// Axis maps of published models, worked by hand from their rules; and sections that cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "posenc/rope.h"

namespace posenc::axes_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// {{axis, count}, ...} written out.
std::vector<std::int32_t> runs(const std::vector<std::pair<std::int32_t, int>>& all) {
  std::vector<std::int32_t> out;
  for (const auto& [axis, count] : all) out.insert(out.end(), static_cast<std::size_t>(count), axis);
  return out;
}

std::vector<std::int32_t> repeated(const std::vector<std::int32_t>& pattern, int times) {
  std::vector<std::int32_t> out;
  for (int i = 0; i < times; ++i) out.insert(out.end(), pattern.begin(), pattern.end());
  return out;
}

std::vector<std::int32_t> joined(std::vector<std::int32_t> first, const std::vector<std::int32_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(Axes, ChunkedQwen2Vl) {
  const AxisMap map = chunked_axes({"t", "h", "w"}, {16, 24, 24});
  EXPECT_THAT(map.names, ElementsAre("t", "h", "w"));
  EXPECT_EQ(map.of_pair, runs({{0, 16}, {1, 24}, {2, 24}}));
}

TEST(Axes, ChunkedXdRopeHasFour) {
  EXPECT_EQ(chunked_axes({"p", "w", "h", "t"}, {16, 16, 16, 16}).of_pair, runs({{0, 16}, {1, 16}, {2, 16}, {3, 16}}));
  EXPECT_THAT(chunked_axes({"p", "w", "h", "t"}, {1, 2, 0, 1}).of_pair, ElementsAre(0, 1, 1, 3));
}

TEST(Axes, InterleavedQwen3Vl) {
  const AxisMap map = interleaved_axes({24, 20, 20});
  EXPECT_THAT(map.names, ElementsAre("t", "h", "w"));
  EXPECT_EQ(map.of_pair, joined(repeated({0, 1, 2}, 20), runs({{0, 4}})));
}

TEST(Axes, InterleavedQwen35) {
  // 32 pairs: h takes 1, 4, .. 31; w takes 2, 5, .. 29.
  EXPECT_EQ(interleaved_axes({11, 11, 10}).of_pair, joined(repeated({0, 1, 2}, 10), {0, 1}));
}

TEST(Axes, AlternatingErnie) {
  const AxisMap map = alternating_axes({22, 22, 20});
  EXPECT_THAT(map.names, ElementsAre("t", "h", "w"));
  EXPECT_EQ(map.of_pair, joined(repeated({1, 2}, 22), runs({{0, 20}})));
}

TEST(Axes, Axial) {
  EXPECT_EQ(axial_axes({"h", "w"}, 4).of_pair, runs({{0, 2}, {1, 2}}));
  EXPECT_EQ(axial_axes({"t", "h", "w"}, 6).of_pair, runs({{0, 2}, {1, 2}, {2, 2}}));
  EXPECT_EQ(axial_axes({"x"}, 3).of_pair, runs({{0, 3}}));
}

// Every map gives each axis as many pairs as its section says.
TEST(Axes, SectionsAreCounts) {
  for (std::int64_t t = 1; t < 8; ++t) {
    for (std::int64_t s = 0; s <= t; ++s) {
      const auto count = [](const AxisMap& map, std::int32_t axis) {
        return std::count(map.of_pair.begin(), map.of_pair.end(), axis);
      };
      for (const AxisMap& map : {interleaved_axes({t, s, s}), chunked_axes({"t", "h", "w"}, {t, s, s}),
                                 alternating_axes({s, s, t})}) {
        EXPECT_EQ(count(map, 0), t);
        EXPECT_EQ(count(map, 1), s);
        EXPECT_EQ(count(map, 2), s);
      }
    }
  }
}

void expect_error(const std::function<AxisMap()>& make, const std::string& where, const std::string& field,
                  const std::string& is) {
  try {
    (void)make();
    FAIL() << where << " " << field;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("[" + where + "]"));
    EXPECT_EQ(error.problem().field, field);
    EXPECT_THAT(error.problem().is, HasSubstr(is));
  }
}

TEST(Axes, BadSections) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  expect_error([] { return chunked_axes({"t", "h", "w"}, {16, 24}); }, "chunked_axes", "sections", "2 long");
  expect_error([] { return chunked_axes({}, {}); }, "chunked_axes", "sections", "0");
  expect_error([] { return chunked_axes({"t", "h"}, {4, -4}); }, "chunked_axes", "sections[1]", "-4");
  expect_error([] { return chunked_axes({"t", "h"}, {0, 0}); }, "chunked_axes", "sections", "0");
  expect_error([] { return chunked_axes({"t", "h"}, {kHuge, kHuge}); }, "chunked_axes", "sections[0]", "922");
  expect_error([] { return chunked_axes({"t", "h"}, {32768, 1}); }, "chunked_axes", "sections[1]", "1");
  expect_error([] { return interleaved_axes({24, 20}); }, "interleaved_axes", "sections", "2 long");
  expect_error([] { return interleaved_axes({24, 20, 20, 0}); }, "interleaved_axes", "sections", "4 long");
  expect_error([] { return interleaved_axes({4, 40, 20}); }, "interleaved_axes", "sections[1]", "40");
  expect_error([] { return interleaved_axes({0, 1, 1}); }, "interleaved_axes", "sections[2]", "1");
  expect_error([] { return alternating_axes({22, 20, 22}); }, "alternating_axes", "sections", "22 and 20");
  expect_error([] { return alternating_axes({22, 22}); }, "alternating_axes", "sections", "2 long");
  expect_error([] { return axial_axes({}, 8); }, "axial_axes", "names", "empty");
  expect_error([] { return axial_axes({"h", "w"}, 7); }, "axial_axes", "pairs", "7");
  expect_error([] { return axial_axes({"h", "w"}, 0); }, "axial_axes", "pairs", "0");
  expect_error([] { return axial_axes({"h", "w"}, kHuge - 1); }, "axial_axes", "sections[0]", "46");
}

// A scheme whose sections do not add up to its pairs is refused where the two meet.
TEST(Axes, SectionsMustAddUpToThePairs) {
  const Rope rope{.pairing = Pairing::half, .head_dim = 128, .dim = 128, .axes = interleaved_axes({24, 20, 16})};
  const auto problem = check(rope);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->field, "axes.of_pair");
  EXPECT_THAT(problem->is, HasSubstr("60"));
}

}  // namespace
}  // namespace posenc::axes_test
