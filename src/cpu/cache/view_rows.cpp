// view_rows(): the runs of views as the block table, positions and orders that attend takes.
//
// A block stands in the table once for each time that a sequence goes on in it: where the next run begins behind the
// last one in the same block, the entry serves both. Rows of a block that hold no token of the run have an order that
// no query reaches, and the position of a neighbour, so that no table by distance grows for them.
#include <limits>
#include <utility>

#include "base/formatted.h"
#include "posenc/cache/view.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

constexpr const char* kViewRows = "view_rows";
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

}  // namespace

// One sequence.
struct RowsOfView {
  explicit RowsOfView(const CacheView& of) : view(of) {
    std::int64_t token = 0;
    for (const CacheView::Run& run : view.runs_) {
      for (std::int64_t t = 0; t < run.count; ++t) place(run, t, token++);
    }
  }

  // To the row of the token; rows before it in its block are nobody's.
  void place(const CacheView::Run& run, std::int64_t t, std::int64_t token) {
    const std::int64_t slot = run.slot + t;
    const std::int64_t block = slot / view.block_size_;
    const std::int64_t in_block = slot % view.block_size_;
    const std::int64_t used = std::ssize(order) - (std::ssize(blocks) - 1) * view.block_size_;  // of the last block
    if (blocks.empty() || blocks.back() != block || in_block < used) {
      if (!blocks.empty()) fill(view.block_size_ - used);
      if (block > kMost) throw Error(kViewRows, {"slot", "be in one of 2^31 - 1 blocks", formatted("{}", slot)});
      blocks.push_back(static_cast<std::int32_t>(block));
      fill(in_block);
    } else {
      fill(in_block - used);
    }
    order.push_back(token);
    for (std::int64_t a = 0; a < view.axes_; ++a) places.push_back(view.coordinate(run, t, a));
    if (std::ssize(order) > kMost) {
      throw Error(kViewRows, {"views", "have at most 2^31 - 1 rows in their blocks", formatted("{}", order.size())});
    }
  }

  void fill(std::int64_t rows) {
    for (std::int64_t n = 0; n < rows; ++n) {
      order.push_back(kNoToken);
      for (std::int64_t a = 0; a < view.axes_; ++a) places.push_back(0);
    }
  }

  const CacheView& view;
  std::vector<std::int32_t> blocks{};
  std::vector<std::int64_t> order{};   // [rows]
  std::vector<std::int64_t> places{};  // [rows, axes]
};

namespace {

// Positions of rows that are nobody's are those of the token before, or of the first.
void near_neighbours(RowsOfView& of, std::int64_t axes) {
  std::size_t first = 0;
  while (first < of.order.size() && of.order[first] == kNoToken) ++first;
  const auto width = static_cast<std::size_t>(axes);
  for (std::size_t row = 0; row < of.order.size(); ++row) {
    if (of.order[row] != kNoToken) continue;
    const std::size_t from = row < first ? first : row - 1;
    for (std::size_t a = 0; a < width; ++a) of.places[row * width + a] = of.places[from * width + a];
  }
}

void check(std::span<const CacheView> views, std::span<const std::int64_t> queries) {
  if (views.empty()) throw Error(kViewRows, {"views", "be at least one", "none"});
  if (queries.size() != views.size()) {
    throw Error(kViewRows, {"queries", formatted("have one entry for each of {} views", views.size()),
                            formatted("{} long", queries.size())});
  }
  for (std::size_t s = 0; s < views.size(); ++s) {
    const auto require = [&](bool holds, const char* what, std::int64_t wanted, std::int64_t is) {
      if (holds) return;
      throw Error(kViewRows, {formatted("views[{}].{}", s, what), formatted("be {}", wanted), formatted("{}", is)});
    };
    require(views[s].block_size() == views[0].block_size(), "block_size", views[0].block_size(), views[s].block_size());
    require(views[s].axes() == views[0].axes(), "axes", views[0].axes(), views[s].axes());
    if (queries[s] >= 0 && queries[s] <= views[s].tokens()) continue;
    throw Error(kViewRows, {formatted("queries[{}]", s), formatted("be from 0 to {}", views[s].tokens()),
                            formatted("{}", queries[s])});
  }
}

void add_end(std::vector<std::int32_t>& ends, std::int64_t count) {
  const std::int64_t end = ends.back() + count;
  if (end > kMost) throw Error(kViewRows, {"views", "have at most 2^31 - 1 rows in all", formatted("{}", end)});
  ends.push_back(static_cast<std::int32_t>(end));
}

// [axes, rows] of all sequences' [rows, axes].
std::vector<std::int64_t> by_axis(const std::vector<std::int64_t>& places, std::int64_t axes) {
  std::vector<std::int64_t> out;
  out.reserve(places.size());
  for (std::int64_t a = 0; a < axes; ++a) {
    for (std::size_t at = static_cast<std::size_t>(a); at < places.size(); at += static_cast<std::size_t>(axes)) {
      out.push_back(places[at]);
    }
  }
  return out;
}

}  // namespace

ViewRows view_rows(std::span<const CacheView> views, std::span<const std::int64_t> queries) {
  check(views, queries);
  const std::int64_t axes = views.front().axes();
  ViewRows out;
  out.cu_seqlens_q = {0};
  out.cu_seqlens_k = {0};
  std::vector<std::vector<std::int32_t>> tables;
  std::vector<std::int64_t> q_places;
  std::vector<std::int64_t> k_places;
  std::size_t longest = 1;
  for (std::size_t s = 0; s < views.size(); ++s) {
    RowsOfView of(views[s]);
    near_neighbours(of, axes);
    add_end(out.cu_seqlens_q, queries[s]);
    add_end(out.cu_seqlens_k, std::ssize(of.order));
    const std::int64_t asking = views[s].tokens() - queries[s];
    for (std::size_t row = 0; row < of.order.size(); ++row) {
      if (of.order[row] < asking || of.order[row] == kNoToken) continue;
      out.q_order.push_back(of.order[row]);
      const auto from = of.places.begin() + static_cast<std::ptrdiff_t>(row) * axes;
      q_places.insert(q_places.end(), from, from + axes);
    }
    out.k_order.insert(out.k_order.end(), of.order.begin(), of.order.end());
    k_places.insert(k_places.end(), of.places.begin(), of.places.end());
    longest = std::max(longest, of.blocks.size());
    tables.push_back(std::move(of.blocks));
  }
  for (std::vector<std::int32_t>& table : tables) {
    table.resize(longest, -1);
    out.block_table.insert(out.block_table.end(), table.begin(), table.end());
  }
  out.q_positions = by_axis(q_places, axes);
  out.k_positions = by_axis(k_places, axes);
  return out;
}

void ViewRows::give(AttendArgs& args) const {
  args.pages.block_table = block_table;
  args.inputs.cu_seqlens_q = cu_seqlens_q;
  args.inputs.cu_seqlens_k = cu_seqlens_k;
  args.inputs.q_positions = std::span<const std::int64_t>(q_positions);
  args.inputs.k_positions = std::span<const std::int64_t>(k_positions);
  args.inputs.q_order = q_order;
  args.inputs.k_order = k_order;
}

}  // namespace posenc::inline v0_2
