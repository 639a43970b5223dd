// CacheView: a list of runs, split where an operation cuts and moved by adding to their positions.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/formatted.h"
#include "posenc/cache/view.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 53U;
constexpr std::int64_t kMostPosition = std::int64_t{1} << 53U;  // attend's
constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostBlockSize = std::int64_t{1} << 20U;
constexpr std::int64_t kMostAxes = 8;

void require(bool holds, const char* where, const char* field, const std::string& must, std::int64_t is) {
  if (!holds) throw Error(where, {field, must, formatted("{}", is)});
}

bool may_be_moved(std::int64_t low, std::int64_t high, std::int64_t by) {
  return by >= -kMostPosition - low && by <= kMostPosition - high;
}

}  // namespace

CacheView::CacheView(std::int64_t block_size, std::int64_t axes) : block_size_(block_size), axes_(axes) {
  constexpr const char* kWhere = "CacheView";
  require(block_size >= 1 && block_size <= kMostBlockSize, kWhere, "block_size", "be from 1 to 2^20", block_size);
  require(axes >= 1 && axes <= kMostAxes, kWhere, "axes", "be from 1 to 8", axes);
}

std::int64_t CacheView::coordinate(const Run& run, std::int64_t token, std::int64_t axis) const {
  if (run.coordinates < 0) return run.position + token;
  return run.position + own_[static_cast<std::size_t>(run.coordinates + token * axes_ + axis)];
}

std::int64_t CacheView::start_of(const Run& run) const {
  std::int64_t out = coordinate(run, 0, 0);
  for (std::int64_t a = 1; a < axes_; ++a) out = std::min(out, coordinate(run, 0, a));
  return out;
}

std::int64_t CacheView::end_of(const Run& run) const {
  if (run.coordinates < 0) return run.position + run.count;
  std::int64_t out = coordinate(run, 0, 0);
  for (std::int64_t t = 0; t < run.count; ++t) {
    for (std::int64_t a = 0; a < axes_; ++a) out = std::max(out, coordinate(run, t, a));
  }
  return out + 1;
}

std::int64_t CacheView::lowest_of(const Run& run) const {
  std::int64_t out = start_of(run);
  for (std::int64_t t = 1; run.coordinates >= 0 && t < run.count; ++t) {
    for (std::int64_t a = 0; a < axes_; ++a) out = std::min(out, coordinate(run, t, a));
  }
  return out;
}

std::int64_t CacheView::tokens() const noexcept {
  std::int64_t out = 0;
  for (const Run& run : runs_) out += run.count;
  return out;
}

std::int64_t CacheView::next_position() const noexcept {
  std::int64_t out = 0;
  bool is_first = true;
  for (const Run& run : runs_) {
    out = is_first ? end_of(run) : std::max(out, end_of(run));
    is_first = false;
  }
  return out;
}

// To the last run, where it goes on with it.
void CacheView::add(Run run) {
  if (run.count == 0) return;
  if (!runs_.empty() && runs_.back().coordinates < 0 && run.coordinates < 0) {
    Run& last = runs_.back();
    if (last.slot + last.count == run.slot && last.position + last.count == run.position) {
      last.count += run.count;
      return;
    }
  }
  runs_.push_back(run);
}

void CacheView::append(std::int64_t slot, std::int64_t count) {
  constexpr const char* kWhere = "CacheView::append";
  require(count >= 0 && count <= kMostTokens - tokens(), kWhere, "count", "be at least 0, of 2^31 - 1 tokens in all",
          count);
  require(slot >= 0 && slot <= kMostRows - count, kWhere, "slot", "be at least 0 and at most 2^53", slot);
  const std::int64_t position = next_position();
  require(position <= kMostPosition - count, kWhere, "count", "lead to positions of at most 2^53", count);
  add({.slot = slot, .count = count, .position = position});
}

void CacheView::append(std::int64_t slot, std::span<const std::int64_t> coordinates) {
  constexpr const char* kWhere = "CacheView::append";
  require(std::ssize(coordinates) % axes_ == 0, kWhere, "coordinates", formatted("be [{}, tokens]", axes_),
          std::ssize(coordinates));
  const std::int64_t count = std::ssize(coordinates) / axes_;
  require(count <= kMostTokens - tokens(), kWhere, "coordinates", "be of 2^31 - 1 tokens in all", count);
  require(slot >= 0 && slot <= kMostRows - count, kWhere, "slot", "be at least 0 and at most 2^53", slot);
  for (const std::int64_t one : coordinates) {
    require(one >= -kMostPosition && one <= kMostPosition, kWhere, "coordinates", "be at most 2^53 either way", one);
  }
  if (count == 0) return;
  const Run run{.slot = slot, .count = count, .coordinates = std::ssize(own_)};
  std::vector<std::int64_t> rows;  // [count, axes]
  rows.reserve(coordinates.size());
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t a = 0; a < axes_; ++a) rows.push_back(coordinates[static_cast<std::size_t>(a * count + t)]);
  }
  runs_.push_back(run);
  try {
    own_.insert(own_.end(), rows.begin(), rows.end());
  } catch (...) {
    runs_.pop_back();
    throw;
  }
}

void CacheView::check_moved(const char* where, std::size_t first_run, std::int64_t by) const {
  for (std::size_t r = first_run; r < runs_.size(); ++r) {
    if (may_be_moved(lowest_of(runs_[r]), end_of(runs_[r]) - 1, by)) continue;
    throw Error(where, {"by", "lead to positions of at most 2^53 either way", formatted("{}", by)});
  }
}

void CacheView::shift(std::int64_t by) {
  check_moved("CacheView::shift", 0, by);
  for (Run& run : runs_) run.position += by;
}

std::size_t CacheView::split(std::int64_t at) {
  std::size_t r = 0;
  while (r < runs_.size() && at >= runs_[r].count) at -= runs_[r++].count;
  if (at == 0 || r == runs_.size()) return r;
  Run behind = runs_[r];
  behind.slot += at;
  behind.count -= at;
  if (behind.coordinates < 0) {
    behind.position += at;
  } else {
    behind.coordinates += at * axes_;
  }
  runs_[r].count = at;
  runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(r + 1), behind);
  return r + 1;
}

void CacheView::erase(std::int64_t first, std::int64_t count, CacheGap gap) {
  constexpr const char* kWhere = "CacheView::erase";
  const std::int64_t all = tokens();
  require(first >= 0 && first <= all, kWhere, "first", formatted("be from 0 to {}", all), first);
  require(count >= 0 && count <= all - first, kWhere, "count", formatted("be from 0 to {}", all - first), count);
  require(gap <= CacheGap::open, kWhere, "gap", "be closed or open", static_cast<std::int64_t>(gap));
  if (count == 0) return;
  CacheView out = *this;
  const std::size_t begin = out.split(first);
  const std::size_t end = out.split(first + count);
  if (gap == CacheGap::closed && end < out.runs_.size()) {
    const std::int64_t by = out.start_of(out.runs_[begin]) - out.start_of(out.runs_[end]);
    out.check_moved(kWhere, end, by);
    for (std::size_t r = end; r < out.runs_.size(); ++r) out.runs_[r].position += by;
  }
  CacheView left(block_size_, axes_);
  for (std::size_t r = 0; r < out.runs_.size(); ++r) {
    if (r < begin || r >= end) left.add(out.runs_[r]);
  }
  runs_ = std::move(left.runs_);  // all at once: without memory for it the view is what it was
}

CacheView CacheView::passage(std::int64_t first, std::int64_t count) const {
  constexpr const char* kWhere = "CacheView::passage";
  const std::int64_t all = tokens();
  require(first >= 0 && first <= all, kWhere, "first", formatted("be from 0 to {}", all), first);
  require(count >= 0 && count <= all - first, kWhere, "count", formatted("be from 0 to {}", all - first), count);
  CacheView cut = *this;
  const std::size_t begin = cut.split(first);
  const std::size_t end = cut.split(first + count);
  CacheView out(block_size_, axes_);
  for (std::size_t r = begin; r < end; ++r) {
    Run run = cut.runs_[r];
    if (run.coordinates >= 0) {
      const auto from = own_.begin() + run.coordinates;
      run.coordinates = std::ssize(out.own_);
      out.own_.insert(out.own_.end(), from, from + run.count * axes_);
    }
    out.add(run);
  }
  return out;
}

void CacheView::insert(std::int64_t at, const CacheView& passage) {
  constexpr const char* kWhere = "CacheView::insert";
  const std::int64_t all = tokens();
  require(at >= 0 && at <= all, kWhere, "at", formatted("be from 0 to {}", all), at);
  require(passage.block_size_ == block_size_, kWhere, "passage.block_size", formatted("be {}", block_size_),
          passage.block_size_);
  require(passage.axes_ == axes_, kWhere, "passage.axes", formatted("be {}", axes_), passage.axes_);
  require(passage.tokens() <= kMostTokens - all, kWhere, "passage.tokens", "be of 2^31 - 1 tokens in all",
          passage.tokens());
  if (passage.runs_.empty()) return;
  CacheView out = *this;
  CacheView moved = passage.passage(0, passage.tokens());  // also where it is this view itself
  const std::size_t behind = out.split(at);
  const std::int64_t start = moved.start_of(moved.runs_.front());
  const std::int64_t extent = moved.next_position() - start;
  const std::int64_t to = behind < out.runs_.size() ? out.start_of(out.runs_[behind]) : out.next_position();
  moved.check_moved(kWhere, 0, to - start);
  out.check_moved(kWhere, behind, extent);
  CacheView joined(block_size_, axes_);
  joined.own_ = std::move(out.own_);
  const std::int64_t own = std::ssize(joined.own_);
  joined.own_.insert(joined.own_.end(), moved.own_.begin(), moved.own_.end());
  for (std::size_t r = 0; r < behind; ++r) joined.add(out.runs_[r]);
  for (Run run : moved.runs_) {
    run.position += to - start;
    if (run.coordinates >= 0) run.coordinates += own;
    joined.add(run);
  }
  for (std::size_t r = behind; r < out.runs_.size(); ++r) {
    out.runs_[r].position += extent;
    joined.add(out.runs_[r]);
  }
  *this = std::move(joined);
}

}  // namespace posenc::inline v0_2
