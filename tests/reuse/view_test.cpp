// CacheView against a list of tokens on which the same is done one token at a time; and what view_rows makes of it.
#include "posenc/cache/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "posenc/error.h"
#include "support/random_tensor.h"
#include "support/throws.h"

namespace posenc::test::view_test {
namespace {

constexpr std::uint64_t kSeed = 53;

struct Token {
  std::int64_t slot = 0;
  std::vector<std::int64_t> at{};
  std::int64_t start() const { return *std::ranges::min_element(at); }
  std::int64_t end() const { return *std::ranges::max_element(at) + 1; }
  bool operator==(const Token&) const = default;
};

void move(Token& token, std::int64_t by) {
  for (std::int64_t& one : token.at) one += by;
}

struct List {
  std::vector<Token> tokens{};

  std::int64_t next() const {
    std::int64_t out = tokens.empty() ? 0 : tokens.front().end();
    for (const Token& token : tokens) out = std::max(out, token.end());
    return out;
  }
  void append(std::int64_t slot, std::int64_t count, std::int64_t axes) {
    const std::int64_t from = next();
    for (std::int64_t t = 0; t < count; ++t) {
      tokens.push_back({slot + t, std::vector<std::int64_t>(static_cast<std::size_t>(axes), from + t)});
    }
  }
  void erase(std::int64_t first, std::int64_t count, CacheGap gap) {
    if (count == 0) return;
    const auto begin = tokens.begin() + first;
    const auto end = begin + count;
    const std::int64_t by = end == tokens.end() || gap == CacheGap::open ? 0 : begin->start() - end->start();
    for (auto token = end; token != tokens.end(); ++token) move(*token, by);
    tokens.erase(begin, end);
  }
  void insert(std::int64_t at, List passage) {
    if (passage.tokens.empty()) return;
    const std::int64_t start = passage.tokens.front().start();
    const std::int64_t extent = passage.next() - start;
    const std::int64_t to = at < std::ssize(tokens) ? tokens[static_cast<std::size_t>(at)].start() : next();
    for (Token& token : passage.tokens) move(token, to - start);
    for (std::size_t t = static_cast<std::size_t>(at); t < tokens.size(); ++t) move(tokens[t], extent);
    tokens.insert(tokens.begin() + at, passage.tokens.begin(), passage.tokens.end());
  }
};

// The tokens that attend would read, from what it is given.
std::vector<Token> read(const ViewRows& rows, std::int64_t block_size, std::int64_t axes) {
  std::vector<Token> out;
  const std::int64_t all = rows.cu_seqlens_k.back();
  for (std::int64_t row = 0; row < all; ++row) {
    const std::int64_t order = rows.k_order[static_cast<std::size_t>(row)];
    if (order == kNoToken) continue;
    EXPECT_EQ(order, std::ssize(out));
    Token token{.slot = rows.block_table[static_cast<std::size_t>(row / block_size)] * block_size + row % block_size};
    for (std::int64_t a = 0; a < axes; ++a) {
      token.at.push_back(rows.k_positions[static_cast<std::size_t>(a * all + row)]);
    }
    out.push_back(std::move(token));
  }
  return out;
}

void expect_same(const CacheView& view, const List& list, const std::string& where) {
  ASSERT_EQ(view.tokens(), std::ssize(list.tokens)) << where;
  EXPECT_EQ(view.next_position(), list.next()) << where;
  const std::int64_t queries = std::min<std::int64_t>(view.tokens(), 3);
  const ViewRows rows = view_rows({&view, 1}, {&queries, 1});
  EXPECT_EQ(read(rows, view.block_size(), view.axes()), list.tokens) << where;
  ASSERT_EQ(std::ssize(rows.q_order), queries);
  for (std::int64_t q = 0; q < queries; ++q) {
    const std::int64_t token = view.tokens() - queries + q;
    EXPECT_EQ(rows.q_order[static_cast<std::size_t>(q)], token) << where;
    for (std::int64_t a = 0; a < view.axes(); ++a) {
      EXPECT_EQ(rows.q_positions[static_cast<std::size_t>(a * queries + q)],
                list.tokens[static_cast<std::size_t>(token)].at[static_cast<std::size_t>(a)])
          << where;
    }
  }
}

// A patch of an image, as M-RoPE places it: one time, rows and columns from there on.
std::vector<std::int64_t> image(std::int64_t start, std::int64_t axes) {
  std::vector<std::int64_t> out;
  for (std::int64_t a = 0; a < axes; ++a) {
    for (std::int64_t t = 0; t < 6; ++t) out.push_back(start + (a == 1 ? t / 3 : a == 2 ? t % 3 : 0));
  }
  return out;
}

class Both {
 public:
  Both(std::int64_t block_size, std::int64_t axes) : view(block_size, axes) {}
  void append(Random& random) {
    const std::int64_t slot = random.whole(0, 500);
    if (view.axes() == 1 || random.whole(0, 1) == 0) {
      const std::int64_t count = random.whole(0, 9);
      view.append(slot, count);
      return list.append(slot, count, view.axes());
    }
    const std::vector<std::int64_t> at = image(view.next_position(), view.axes());
    view.append(slot, at);
    const auto axes = static_cast<std::size_t>(view.axes());
    for (std::size_t t = 0; t < 6; ++t) {
      Token token{.slot = slot + static_cast<std::int64_t>(t)};
      for (std::size_t a = 0; a < axes; ++a) token.at.push_back(at[a * 6 + t]);
      list.tokens.push_back(std::move(token));
    }
  }
  CacheView view;
  List list{};
};

void step(Both& a, Both& b, Random& random) {
  const std::int64_t all = a.view.tokens();
  const std::int64_t first = random.whole(0, all);
  const std::int64_t count = random.whole(0, std::min<std::int64_t>(all - first, 12));
  switch (random.whole(0, 5)) {
    case 0:
    case 1: return a.append(random);
    case 2: {
      const std::int64_t by = random.whole(-40, 40);
      a.view.shift(by);
      for (Token& token : a.list.tokens) move(token, by);
      return;
    }
    case 3: {
      const CacheGap gap = random.whole(0, 1) == 0 ? CacheGap::closed : CacheGap::open;
      a.view.erase(first, count, gap);
      return a.list.erase(first, count, gap);
    }
    case 4: {  // of the other, or of itself
      Both& from = random.whole(0, 1) == 0 ? a : b;
      const std::int64_t begin = random.whole(0, from.view.tokens());
      const std::int64_t some = random.whole(0, std::min<std::int64_t>(from.view.tokens() - begin, 20));
      const auto begins = from.list.tokens.begin() + begin;
      const List passage{{begins, begins + some}};
      a.view.insert(first, from.view.passage(begin, some));
      return a.list.insert(first, passage);
    }
    default: return std::swap(a, b);
  }
}

TEST(CacheView, IsAListOfTokens) {
  for (const std::int64_t axes : {1, 3}) {
    for (const std::int64_t block_size : {1, 4, 16}) {
      Random random(kSeed + static_cast<std::uint64_t>(axes * 100 + block_size));
      Both a(block_size, axes);
      Both b(block_size, axes);
      for (int n = 0; n < 300; ++n) {
        step(a, b, random);
        if (a.view.tokens() > 200) a = Both(block_size, axes);
        expect_same(
            a.view, a.list,
            std::to_string(axes) + " axes, blocks of " + std::to_string(block_size) + ", step " + std::to_string(n));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

// An engine that decodes and lets go of the oldest has a run for each cut, however many tokens there are.
TEST(CacheView, TakesAsLongAsItHasRuns) {
  CacheView view(16);
  for (std::int64_t t = 0; t < 4096; ++t) view.append(t, 1);
  EXPECT_EQ(view.runs(), 1);
  for (int n = 0; n < 1000; ++n) {
    view.erase(4, 64);
    view.shift(3);
    view.append(4096 + 64 * n, 64);
  }
  EXPECT_EQ(view.tokens(), 4096);
  EXPECT_EQ(view.runs(), 2);  // four sinks, and what is behind them: its rows follow each other
}

// A block with a hole stands in the table once.
TEST(CacheView, NamesABlockOnce) {
  CacheView view(8);
  view.append(16, 16);
  view.erase(2, 3);
  const std::int64_t queries = 1;
  const ViewRows rows = view_rows({&view, 1}, {&queries, 1});
  EXPECT_EQ(rows.block_table, (std::vector<std::int32_t>{2, 3}));
  EXPECT_EQ(rows.cu_seqlens_k, (std::vector<std::int32_t>{0, 16}));
  EXPECT_EQ(std::ranges::count(rows.k_order, kNoToken), 3);
}

TEST(CacheView, OfManySequencesPadsTheTable) {
  CacheView one(4);
  one.append(8, 9);
  const CacheView none(4);
  CacheView two(4);
  two.append(1, 2);
  const std::vector<CacheView> views{one, none, two};
  const std::vector<std::int64_t> queries{2, 0, 1};
  const ViewRows rows = view_rows(views, queries);
  EXPECT_EQ(rows.block_table, (std::vector<std::int32_t>{2, 3, 4, -1, -1, -1, 0, -1, -1}));
  EXPECT_EQ(rows.cu_seqlens_k, (std::vector<std::int32_t>{0, 9, 9, 12}));
  EXPECT_EQ(rows.cu_seqlens_q, (std::vector<std::int32_t>{0, 2, 2, 3}));
  EXPECT_EQ(rows.q_positions, (std::vector<std::int64_t>{7, 8, 1}));
}

TEST(CacheView, RefusesWhatIsOutOfRange) {
  constexpr std::int64_t kFar = std::int64_t{1} << 53U;
  EXPECT_ERROR(CacheView(0), "[CacheView] block_size must be from 1 to 2^20 but is 0");
  EXPECT_ERROR(CacheView(16, 9), "[CacheView] axes must be from 1 to 8 but is 9");
  CacheView view(16);
  view.append(0, 20);
  const CacheView before = view;
  EXPECT_ERROR(view.append(-1, 1), "[CacheView::append] slot must be at least 0 and at most 2^53 but is -1");
  EXPECT_ERROR(view.append(0, -1), "[CacheView::append] count must be at least 0, of 2^31 - 1 tokens in all but is -1");
  EXPECT_ERROR(view.append(0, std::int64_t{1} << 31U),
               "[CacheView::append] count must be at least 0, of 2^31 - 1 tokens in all but is 2147483648");
  EXPECT_ERROR(view.shift(kFar),
               "[CacheView::shift] by must lead to positions of at most 2^53 either way but is "
               "9007199254740992");
  EXPECT_ERROR(view.erase(21, 0), "[CacheView::erase] first must be from 0 to 20 but is 21");
  EXPECT_ERROR(view.erase(5, 16), "[CacheView::erase] count must be from 0 to 15 but is 16");
  EXPECT_ERROR((void)view.passage(-1, 1), "[CacheView::passage] first must be from 0 to 20 but is -1");
  EXPECT_ERROR(view.insert(0, CacheView(8)), "[CacheView::insert] passage.block_size must be 16 but is 8");
  EXPECT_ERROR(view.insert(0, CacheView(16, 3)), "[CacheView::insert] passage.axes must be 1 but is 3");
  EXPECT_ERROR(view.insert(21, view), "[CacheView::insert] at must be from 0 to 20 but is 21");
  EXPECT_EQ(view, before);
  const std::vector<std::int64_t> odd{1, 2};
  CacheView image(16, 3);
  EXPECT_ERROR(image.append(0, odd), "[CacheView::append] coordinates must be [3, tokens] but is 2");
  const std::int64_t many = 21;
  EXPECT_ERROR((void)view_rows({&view, 1}, {&many, 1}), "[view_rows] queries[0] must be from 0 to 20 but is 21");
  EXPECT_ERROR((void)view_rows({}, {}), "[view_rows] views must be at least one but is none");
  const std::vector<CacheView> two{view, CacheView(8)};
  const std::vector<std::int64_t> queries{1, 0};
  EXPECT_ERROR((void)view_rows(two, queries), "[view_rows] views[1].block_size must be 16 but is 8");
}

}  // namespace
}  // namespace posenc::test::view_test
