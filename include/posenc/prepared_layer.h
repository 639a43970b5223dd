// A layer of attention whose weights are worked on once, and not in every call.
//
//   const PreparedLayer prepared = prepare_layer(layer, weights);  // once
//   attend(prepared, args);                                        // for every call, args without weights
//
// What attend makes of a layer's weights before it looks at a token is kept: DeBERTa's position rows through the
// projections of keys and queries, biases by distance (T5, KERPLE, Sandwich, learned ones, perceptrons), vectors as
// floats. What follows from the tokens is made by the call, as ever, so a prepared layer serves all lengths, positions
// and batches, and gives the very bits of attend(layer, args) with the same weights.
//
// Thread safety: a prepared layer does not change. Threads may share it, in calls that write to different tensors.
#pragma once

#include <cstdint>
#include <memory>

#include "posenc/attend.h"
#include "posenc/attention.h"
#include "posenc/export.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"

namespace posenc::cpu {
struct KeptLayer;
struct KeptLayerAccess;
}  // namespace posenc::cpu

namespace posenc::inline v0_2 {

struct PrepareOptions {
  // Biases are kept of distances up to here, of keys after the query too where the mask lets it see them; where buckets
  // end, or a window, of fewer. A call that sees farther makes its own, as without a prepared layer.
  std::int64_t max_distance = 8191;
  Parallel parallel{};
  Isa isa = Isa::automatic;  // the one that calls run on
};

// The plan is a copy. Weights are views: their memory stays the caller's, and must neither go nor change as long as
// calls are made. May be moved; one that has been moved from is refused.
class POSENC_API PreparedLayer {
 public:
  const LayerPlan& layer() const;
  const LayerWeights& weights() const;
  Isa isa() const;             // never automatic
  std::int64_t bytes() const;  // of what is kept

  PreparedLayer(PreparedLayer&&) noexcept;
  PreparedLayer& operator=(PreparedLayer&&) noexcept;
  ~PreparedLayer();

 private:
  friend struct cpu::KeptLayerAccess;
  explicit PreparedLayer(std::unique_ptr<const cpu::KeptLayer> kept) noexcept;
  const cpu::KeptLayer& kept() const;

  std::unique_ptr<const cpu::KeptLayer> kept_;
};

// Throws Error for a layer that attend does not take, for weights that do not fit it, and for distances of which biases
// would take more than 1 GiB.
POSENC_API PreparedLayer prepare_layer(const LayerPlan& layer, const LayerWeights& weights,
                                       const PrepareOptions& options = {});

// As attend(layer, args) and attend_scratch_bytes(layer, args) in attend.h, with that layer and its weights. Throws
// Error, too, where args has weights, since they might be others, or an instruction set that is not the layer's.
[[nodiscard]] POSENC_API bool attend(const PreparedLayer& prepared, const AttendArgs& args);
POSENC_API std::int64_t attend_scratch_bytes(const PreparedLayer& prepared, const AttendArgs& args);

}  // namespace posenc::inline v0_2
