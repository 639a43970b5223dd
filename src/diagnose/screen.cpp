#include "diagnose/screen.h"

#include <algorithm>
#include <array>

#include "diagnose/positions/decoded_positions.h"

namespace posenc::inline v0_2::port {
namespace {

// Rows on which many hypotheses are judged before the few that hold there are judged on all.
constexpr std::size_t kScreenRows = 48;
// Pairs that rotate, below which one position per token explains too much.
constexpr std::size_t kInformativePairs = 4;

// Evenly, the first and the last, and the first 8: consecutive tokens near the start are where ports are looked at.
std::vector<std::size_t> screen_rows(const std::vector<std::size_t>& rows) {
  if (rows.size() <= kScreenRows) return rows;
  std::vector<std::size_t> out(rows.begin(), rows.begin() + 8);
  for (std::size_t i = 8; i < kScreenRows; ++i) {
    out.push_back(rows[8 + (i - 8) * (rows.size() - 9) / (kScreenRows - 9)]);
  }
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

std::vector<std::size_t> all_rows(const MeasuredTable& table) {
  std::vector<std::size_t> out(table.rows);
  for (std::size_t r = 0; r < table.rows; ++r) out[r] = r;
  return out;
}

Places of_rows(const Places& places, const std::vector<std::size_t>& rows) {
  Places out{.axes = std::vector<std::vector<double>>(places.axes.size())};
  for (std::size_t axis = 0; axis < places.axes.size(); ++axis) {
    for (const std::size_t r : rows) out.axes[axis].push_back(places.axes[axis][r]);
  }
  return out;
}

MeasuredTable some_rows(const MeasuredTable& table, const std::vector<std::size_t>& rows) {
  MeasuredTable out = {};
  out.sequences = 1;
  out.tokens = static_cast<std::int64_t>(rows.size());
  out.rows = rows.size();
  out.pairs = table.pairs;
  out.factor = table.factor;
  out.common = table.common;
  out.by_weight = table.by_weight;
  out.pair_freedom = table.pair_freedom;
  out.row_freedom = table.row_freedom;
  out.after_unit = table.after_unit;
  out.energy = table.energy;
  for (const std::size_t r : rows) {
    for (std::size_t p = 0; p < table.pairs; ++p) {
      out.c.push_back(table.c[table.at(r, p)]);
      out.angle.push_back(table.angle[table.at(r, p)]);
      out.weight.push_back(table.weight[table.at(r, p)]);
    }
  }
  return out;
}

Screen::Screen(const MeasuredTable& table, const std::vector<std::size_t>& rows)
    : table_(table), rows_(screen_rows(rows)), small_(some_rows(table, rows_)) {
  if (rows.size() == table.rows) return;
  mask_.assign(table.rows, 0);
  for (const std::size_t r : rows) mask_[r] = 1;
}

bool Screen::holds(const FrequencyList& list, const Places& places, const std::vector<std::int32_t>& axis_of_pair,
                   Steps steps) const {
  const Places few = of_rows(places, rows_);
  if (!judge(small_, {&list, &few, &axis_of_pair, steps}).holds) return false;
  return judge(table_, {&list, &places, &axis_of_pair, steps}, {.rows = mask_}).holds;
}

bool Screen::decodes(const FrequencyList& list, const std::vector<double>& expected) const {
  const PositionDecoder decoder(small_, list);
  if (decoder.informative() < kInformativePairs) return false;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::array<double, 2> hints{expected[rows_[i]], -expected[rows_[i]]};
    if (!decoder.decode(i, hints).holds) return false;
  }
  return true;
}

}  // namespace posenc::inline v0_2::port
