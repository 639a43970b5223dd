// A ring of places of a table by distance, each a row of numbers, of lanes or of keys: what tiles that pass one after
// another have of the places that their distances meet, most of which were there in the tile before.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/place_vectors.h"

namespace posenc::cpu {

// Behind the places a row for what has none.
class PlaceRing {
 public:
  // As many as DeBERTa has under a causal mask: 48 KiB of 48 lanes. Tiles of a run meet at most 111.
  static constexpr std::int64_t kPlaces = 256;

  PlaceRing() = default;
  explicit PlaceRing(std::int64_t most) : rows_(static_cast<std::size_t>((kPlaces + 1) * most)) {}

  // Empty, of rows of so many numbers; zeros where there is no place.
  void begin(std::int64_t width) {
    width_ = width;
    span_ = {};
    if (!rows_.empty()) std::fill_n(rows_.data() + nowhere(), width_, 0.0F);
  }
  bool is_empty() const { return span_.count() == 0; }
  // Whether those places have room beside what it has.
  bool takes(const PlaceSpan& places) const { return both(span_, places).count() <= kPlaces; }
  // make(first place, places, their rows) where there were none, of places that lie together.
  template <typename Make>
  void open(const PlaceSpan& places, const Make& make) {
    const PlaceSpan wider = both(span_, places);
    if (is_empty()) {
      for_rows(wider, make);
    } else {
      for_rows({wider.low, span_.low - 1}, make);
      for_rows({span_.high + 1, wider.high}, make);
    }
    span_ = wider;
  }
  // Zeros there.
  void open(const PlaceSpan& places) {
    open(places, [this](std::int64_t, std::int64_t count, float* rows) { std::fill_n(rows, count * width_, 0.0F); });
  }
  float* data() { return rows_.data(); }
  std::int64_t offset(std::int64_t place) const { return (place & (kPlaces - 1)) * width_; }
  std::int64_t nowhere() const { return kPlaces * width_; }

  // use(first place, places, their rows), of places that lie together; then it is empty.
  template <typename Use>
  void take(const Use& use) {
    for_rows(span_, use);
    clear();
  }
  void clear() { span_ = {}; }

 private:
  template <typename Use>
  void for_rows(const PlaceSpan& places, const Use& use) {
    for (std::int64_t place = places.low; place <= places.high;) {
      const std::int64_t count = std::min(places.high - place + 1, kPlaces - (place & (kPlaces - 1)));
      use(place, count, rows_.data() + offset(place));
      place += count;
    }
  }

  std::int64_t width_ = 0;
  PlaceSpan span_{};
  AlignedFloats rows_;  // [kPlaces + 1][width]
};

}  // namespace posenc::cpu
