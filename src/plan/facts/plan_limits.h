// How large a model a config may claim. A count in a file is a claim: memory must not follow it, so that reading stays
// within 64 times the text plus 1 MiB whatever the numbers say (tests/plan/read/read_plan_limits_test.cpp measures it).
#pragma once

#include <cstdint>

namespace posenc::plan {

// Of all text stacks of an object together, both attentions of a block counted.
inline constexpr std::int64_t kMaxLayers = 720;         // 1.1 kB each with an indexer; the deepest model has 126
inline constexpr std::int64_t kMaxListEntries = 32768;  // numbers of all layers' lists together, 8 bytes each
inline constexpr std::int64_t kMaxHeads = 65536;        // of one layer
inline constexpr std::int64_t kMaxHeadDim = 8192;       // channels; to_json() writes half as many frequencies
inline constexpr std::int64_t kMaxHiddenSize = std::int64_t{1} << 30;
inline constexpr std::int64_t kMaxPosition = std::int64_t{1} << 53;  // beyond it a double skips positions

// What a whole number of a file may be.
struct Bounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

}  // namespace posenc::plan
