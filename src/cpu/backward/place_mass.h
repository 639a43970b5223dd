// Gradients of scores summed by the place of their distance, of all tiles that a block of queries passes, or of all
// blocks that pass a tile of keys, until the vectors of those places and the rows that met them are multiplied with the
// sums: far away all of a tile has one place, so sums of rows are all that is left to do there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/place_vectors.h"

namespace posenc::cpu {

// A ring of places, each a row of lanes or of keys; behind it a row for what has no place.
class PlaceMass {
 public:
  // As many as DeBERTa has under a causal mask: 48 KiB of 48 lanes. Tiles of a run meet at most 111.
  static constexpr std::int64_t kPlaces = 256;

  PlaceMass() = default;
  explicit PlaceMass(std::int64_t most) : sums_(static_cast<std::size_t>((kPlaces + 1) * most)) {}

  void begin(std::int64_t width) {
    width_ = width;
    span_ = {};
  }
  bool is_empty() const { return span_.count() == 0; }
  // Whether those places have room beside what it has.
  bool takes(const PlaceSpan& places) const { return both(span_, places).count() <= kPlaces; }
  // Zeros where nothing was.
  void open(const PlaceSpan& places) {
    const PlaceSpan wider = both(span_, places);
    for (std::int64_t place = wider.low; place <= wider.high; ++place) {
      if (place >= span_.low && place <= span_.high) continue;
      std::fill_n(sums_.data() + offset(place), width_, 0.0F);
    }
    span_ = wider;
  }
  float* data() { return sums_.data(); }
  std::int64_t offset(std::int64_t place) const { return (place & (kPlaces - 1)) * width_; }
  std::int64_t nowhere() const { return kPlaces * width_; }

  // use(first place, places, their sums), of places that lie together; then it is empty.
  template <typename Use>
  void take(const Use& use) {
    for (std::int64_t place = span_.low; place <= span_.high;) {
      const std::int64_t count = std::min(span_.high - place + 1, kPlaces - (place & (kPlaces - 1)));
      use(place, count, sums_.data() + offset(place));
      place += count;
    }
    span_ = {};
  }

 private:
  std::int64_t width_ = 0;
  PlaceSpan span_{};
  AlignedFloats sums_;  // [kPlaces + 1][width]
};

// Of the keys of one tile and a head.
struct KeyMass {
  PlaceMass mass;  // [places][kTileKeys]
  std::int64_t head = 0;
  std::int64_t keys = 0;  // of the tile, that some block met
};

}  // namespace posenc::cpu
