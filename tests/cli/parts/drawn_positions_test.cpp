// The positions at which `posenc demo` judges tables beyond the trained length.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "bench/table_accuracy.h"

namespace posenc::test::drawn_positions_test {
namespace {

using tool::drawn_positions;

// Powers of two, at which a doubling ends with 2^31, and lengths beside them.
TEST(DrawnPositions, reach_the_last_doubling) {
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;
  for (const std::int64_t trained :
       {std::int64_t{1}, std::int64_t{4096}, std::int64_t{131072}, std::int64_t{100000}, kEnd / 2, kEnd - 4096}) {
    const std::vector<std::int64_t> drawn = drawn_positions(trained);
    ASSERT_FALSE(drawn.empty());
    EXPECT_GT(*std::max_element(drawn.begin(), drawn.end()), kEnd / 2) << trained;
    EXPECT_LE(*std::max_element(drawn.begin(), drawn.end()), kEnd) << trained;
    EXPECT_GE(*std::min_element(drawn.begin(), drawn.end()), 0) << trained;
    // The trained length itself has its share.
    EXPECT_LT(*std::min_element(drawn.begin(), drawn.end()), trained) << trained;
  }
}

}  // namespace
}  // namespace posenc::test::drawn_positions_test
