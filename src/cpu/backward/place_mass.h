// Gradients of scores summed by the place of their distance, of all tiles that a block of queries passes, or of all
// blocks that pass a tile of keys, until the vectors of those places and the rows that met them are multiplied with the
// sums: far away all of a tile has one place, so sums of rows are all that is left to do there.
#pragma once

#include <cstdint>

#include "cpu/attend/place_ring.h"

namespace posenc::cpu {

using PlaceMass = PlaceRing;

// Of the keys of one tile and a head.
struct KeyMass {
  PlaceMass mass;  // [places][kTileKeys]
  std::int64_t head = 0;
  std::int64_t keys = 0;  // of the tile, that some block met
};

}  // namespace posenc::cpu
