// The sines of a tile's distances times projected queries. Where all distances of a tile fit among the rows that are
// kept, they are one run; else each that occurs is made for the tile alone.
#include <algorithm>

#include "cpu/attend/tile_terms.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

void TileTerms::multiply_sines(std::size_t t, const float* sines, std::int64_t count, float* to) {
  const std::int64_t width = call_.vectors(t).sines->width();
  call_.attention.product({.a = sines,
                           .a_row = width,
                           .a_step = 1,
                           .b = block_.of_term[t].data(),
                           .c = to,
                           .rows = count,
                           .depth = width,
                           .lanes = block_.lanes});
}

void TileTerms::add(const math::SineDistance& term, std::size_t t) {
  const ProjectedDistances& own = call_.projected[t];
  if (!own.rows.empty()) {
    return add_products({.at = own.at,
                         .vectors = own.rows.data(),
                         .count = term.high - term.low + 1,
                         .per_head = true,
                         .rows = block_.of_term[t].data(),
                         .part = math::Part::content,
                         .kept = kept(t)});
  }
  const PlaceRange range = distances(term.coordinate, whole_tile());
  if (range.high - range.low < SineRows::kRows) return add_run_of_sines(term, t, range);
  add_any_sines(term, t);
}

// Places, too, are a run: clamped distances are, and so are those that have a row.
void TileTerms::add_run_of_sines(const math::SineDistance& term, std::size_t t, PlaceRange range) {
  std::optional<std::int64_t> low;
  std::int64_t high = 0;
  for (std::int64_t d = range.low; d <= range.high; ++d) {
    const std::optional<std::int64_t> place = math::sine_place(term, d);
    if (!place) continue;
    if (!low) low = place;
    high = *place;
  }
  if (!low) return;
  const std::int64_t lanes = block_.lanes;
  const std::int64_t count = high - *low + 1;
  float* const band = scratch_.band.data();
  scratch_.sines[t]->for_run(call_.kernels, *low, count, [&](const SineRows::Piece& piece) {
    multiply_sines(t, piece.rows, piece.count, band + piece.first * lanes);
  });
  const bool is_one_row = std::all_of(block_.lane.begin(), block_.lane.begin() + block_.used,
                                      [&](const Lane& lane) { return lane.row == block_.lane[0].row; });
  const bool is_whole = count == range.high - range.low + 1;
  if (is_one_row && is_whole && tile_.is_run(term.coordinate)) {
    call_.attention.add_rows({.to = scores(),
                              .added = band + (tile_.count() - 1) * lanes,
                              .step = -lanes,
                              .factor = factor(math::Part::content)});
    return;
  }
  std::fill_n(band + count * lanes, lanes, 0.0F);
  gather(band, term.coordinate, math::Part::content, [&](std::int64_t d) {
    const std::optional<std::int64_t> place = math::sine_place(term, d);
    return static_cast<std::int32_t>((place ? *place - *low : count) * lanes);
  });
}

// Distances far from each other, as of scattered positions: those that occur, each once, in parts of kRows.
void TileTerms::add_any_sines(const math::SineDistance& term, std::size_t t) {
  std::pmr::vector<std::int64_t>& all = scratch_.distances;
  all.clear();
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    for (std::int64_t l = 0; l < block_.used; ++l) {
      const auto d = static_cast<std::int64_t>(distance(term.coordinate, l, m));
      if (const auto place = math::sine_place(term, d)) all.push_back(*place);
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  float* const band = scratch_.band.data();
  for (std::size_t first = 0; first < all.size(); first += SineRows::kRows) {
    const std::span some = std::span(all).subspan(first, std::min<std::size_t>(SineRows::kRows, all.size() - first));
    const std::int64_t count = std::ssize(some);
    multiply_sines(t, scratch_.sines[t]->of(call_.kernels, some), count, band);
    std::fill_n(band + count * block_.lanes, block_.lanes, 0.0F);
    gather(band, term.coordinate, math::Part::content, [&](std::int64_t d) {
      const std::optional<std::int64_t> place = math::sine_place(term, d);
      const auto at = place ? std::ranges::lower_bound(some, *place) : some.end();
      const bool is_here = at != some.end() && *at == *place;
      return static_cast<std::int32_t>((is_here ? at - some.begin() : count) * block_.lanes);
    });
  }
}

}  // namespace posenc::cpu
