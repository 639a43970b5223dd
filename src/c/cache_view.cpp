// posenc_cache_view and posenc_view_rows of posenc/cache/c.h: cache/view.h for C.
#include <memory>
#include <utility>
#include <vector>

#include "c/arguments.h"
#include "c/handles.h"
#include "c/status.h"
#include "posenc/cache/view.h"

struct posenc_cache_view {
  posenc::CacheView view;
};

struct posenc_view_rows {
  posenc::ViewRows rows;
  posenc_positions q_positions;
  posenc_positions k_positions;
};

namespace posenc::c {
namespace {

posenc_positions counted(const std::vector<std::int64_t>& positions) {
  return {.type = POSENC_INT64, .reserved = 0, .start = 0, .data = positions.data(), .count = std::ssize(positions)};
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_cache_view_new(int64_t block_size, int64_t axes, posenc_cache_view** view) {
  return c::guarded([&] {
    posenc_cache_view*& to = c::required("posenc_cache_view_new", "view", view);
    to = std::make_unique<posenc_cache_view>(posenc_cache_view{posenc::CacheView(block_size, axes)}).release();
  });
}

void posenc_cache_view_free(posenc_cache_view* view) { delete view; }

int64_t posenc_cache_view_tokens(const posenc_cache_view* view) { return view == nullptr ? 0 : view->view.tokens(); }

int64_t posenc_cache_view_next_position(const posenc_cache_view* view) {
  return view == nullptr ? 0 : view->view.next_position();
}

posenc_status posenc_cache_view_append(posenc_cache_view* view, int64_t slot, int64_t count,
                                       const int64_t* coordinates) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_cache_view_append";
    posenc::CacheView& to = c::required(kWhere, "view", view).view;
    if (coordinates == nullptr) return to.append(slot, count);
    constexpr std::int64_t kMost = INT64_MAX / 8;  // axes
    if (count > kMost) throw posenc::Error(kWhere, {"count", "be at most 2^31 - 1", std::to_string(count)});
    to.append(slot, c::list(kWhere, "coordinates", coordinates, count * to.axes()));
  });
}

posenc_status posenc_cache_view_shift(posenc_cache_view* view, int64_t by) {
  return c::guarded([&] { c::required("posenc_cache_view_shift", "view", view).view.shift(by); });
}

posenc_status posenc_cache_view_erase(posenc_cache_view* view, int64_t first, int64_t count, int32_t open) {
  return c::guarded([&] {
    const posenc::CacheGap gap = open != 0 ? posenc::CacheGap::open : posenc::CacheGap::closed;
    c::required("posenc_cache_view_erase", "view", view).view.erase(first, count, gap);
  });
}

posenc_status posenc_cache_view_passage(const posenc_cache_view* view, int64_t first, int64_t count,
                                        posenc_cache_view** passage) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_cache_view_passage";
    const posenc::CacheView& of = c::required(kWhere, "view", view).view;
    posenc_cache_view*& to = c::required(kWhere, "passage", passage);
    to = std::make_unique<posenc_cache_view>(posenc_cache_view{of.passage(first, count)}).release();
  });
}

posenc_status posenc_cache_view_insert(posenc_cache_view* view, int64_t at, const posenc_cache_view* passage) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_cache_view_insert";
    posenc::CacheView& to = c::required(kWhere, "view", view).view;
    to.insert(at, c::required(kWhere, "passage", passage).view);
  });
}

posenc_status posenc_view_rows_new(const posenc_cache_view* const* views, const int64_t* queries, int64_t count,
                                   posenc_view_rows** rows) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_view_rows_new";
    posenc_view_rows*& to = c::required(kWhere, "rows", rows);
    std::vector<posenc::CacheView> all;
    for (const posenc_cache_view* one : c::list(kWhere, "views", views, count)) {
      all.push_back(c::required(kWhere, "views", one).view);
    }
    auto made = std::make_unique<posenc_view_rows>();
    made->rows = view_rows(all, c::list(kWhere, "queries", queries, count));
    made->q_positions = c::counted(made->rows.q_positions);
    made->k_positions = c::counted(made->rows.k_positions);
    to = made.release();
  });
}

void posenc_view_rows_free(posenc_view_rows* rows) { delete rows; }

posenc_status posenc_view_rows_give(const posenc_view_rows* rows, posenc_attend_args* args) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_view_rows_give";
    const posenc_view_rows& from = c::required(kWhere, "rows", rows);
    posenc_attend_args& to = c::required(kWhere, "args", args);
    const auto give = [](const auto& list, const auto*& data, int64_t& count) {
      data = list.data();
      count = std::ssize(list);
    };
    give(from.rows.block_table, to.block_table, to.block_table_count);
    give(from.rows.cu_seqlens_q, to.cu_seqlens_q, to.cu_seqlens_q_count);
    give(from.rows.cu_seqlens_k, to.cu_seqlens_k, to.cu_seqlens_k_count);
    give(from.rows.q_order, to.q_order, to.q_order_count);
    give(from.rows.k_order, to.k_order, to.k_order_count);
    to.q_positions = &from.q_positions;
    to.k_positions = &from.k_positions;
  });
}
