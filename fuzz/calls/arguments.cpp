#include "fuzz/calls/arguments.h"

#include <limits>

namespace posenc::fuzz {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kWholeInDouble = std::int64_t{1} << 53;

constexpr std::array kOddWholes{std::int64_t{0},
                                std::int64_t{1},
                                std::int64_t{-1},
                                std::int64_t{2},
                                std::int64_t{3},
                                std::int64_t{5},
                                std::int64_t{8},
                                std::int64_t{17},
                                std::int64_t{64},
                                std::int64_t{-2},
                                std::int64_t{1} << 24,
                                (std::int64_t{1} << 24) + 1,
                                std::int64_t{1} << 30,
                                (std::int64_t{1} << 30) + 1,
                                (std::int64_t{1} << 31) - 1,
                                std::int64_t{1} << 31,
                                -(std::int64_t{1} << 31),
                                -(std::int64_t{1} << 31) - 1,
                                std::int64_t{1} << 32,
                                std::int64_t{1} << 40,
                                kWholeInDouble,
                                kWholeInDouble + 1,
                                -kWholeInDouble,
                                -kWholeInDouble - 1,
                                std::int64_t{1} << 61,
                                std::int64_t{1} << 62,
                                kMost,
                                kMost - 1,
                                kLeast,
                                kLeast + 1};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kOddReals{0.0,
                               1.0,
                               -1.0,
                               0.5,
                               -0.0,
                               2.5,
                               1e-3,
                               1e-9,
                               1e9,
                               0x1p53,
                               0x1p53 + 2,
                               -0x1p53,
                               0x1p31 + 0.5,
                               0x1p-126,
                               0x1p-149,
                               0x1p-1074,
                               3.5e38,
                               1e300,
                               std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::lowest(),
                               kInfinity,
                               -kInfinity,
                               std::numeric_limits<double>::quiet_NaN()};

}  // namespace

std::int64_t Arguments::odd_whole() noexcept { return choice(kOddWholes); }
double Arguments::odd_real() noexcept { return choice(kOddReals); }

}  // namespace posenc::fuzz
