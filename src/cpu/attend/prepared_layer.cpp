// prepare_layer() of posenc/prepared_layer.h: checks a layer and its weights once, lowers it for a range of distances,
// and keeps what a call would otherwise make each time.
#include "posenc/prepared_layer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "base/parallel.h"
#include "cpu/attend/kept_layer.h"
#include "cpu/lower/distances.h"
#include "cpu/lower/lower.h"
#include "cpu/machine/dispatch.h"
#include "math/call_rows.h"
#include "math/check/check_attend.h"
#include "posenc/error.h"

namespace posenc::cpu {

void require_no_weights(std::string_view where, const KeptLayer& kept, const LayerWeights& weights, Isa isa) {
  if (!weights.score.empty() || !weights.value.table.empty() || !weights.sinks.empty()) {
    throw Error(where, {"weights", "be omitted, since the prepared layer has them", "given"});
  }
  if (isa == Isa::automatic || isa == kept.isa) return;
  throw Error(where, {"isa", formatted("be that of the prepared layer, {}", name(kept.isa)), std::string(name(isa))});
}

}  // namespace posenc::cpu

namespace posenc::inline v0_2 {
namespace {

constexpr const char* kPrepareLayer = "prepare_layer";

// A call of no tokens, which has all that a scheme may ask of one: what is left to be checked are plan and weights.
void check_weights(const LayerPlan& layer, const LayerWeights& weights) {
  math::check_layer(layer);
  const auto nothing = [](std::initializer_list<std::int64_t> shape) {
    return tensor(static_cast<const float*>(nullptr), shape);
  };
  // Rank 4 with a batch of 2: XLNet's bidirectional data asks for a batch of an even number of sequences.
  reference::AttendArgs args;
  args.q = nothing({2, layer.heads, 0, layer.head_dim});
  args.weights = weights;
  args.inputs.log_forget = nothing({0, layer.heads});
  args.inputs.row_gate = nothing({0, layer.heads});
  math::check_weights(layer, args, math::call_rows(layer, args.inputs, {.batch = 2}));
}

// Every bias may have a number for each of these distances and heads, or FIRE's one of 8 bytes for all heads.
void check_distance(const LayerPlan& layer, std::int64_t max_distance) {
  const std::int64_t bytes = std::max<std::int64_t>(layer.heads * 4, 8);
  const std::int64_t most = (cpu::kMaxTableBytes / bytes - 1) / 2;
  if (max_distance >= 0 && max_distance <= most) return;
  throw Error(kPrepareLayer,
              {"max_distance", formatted("be from 0 to {}, for tables of 1 GiB", most), formatted("{}", max_distance)});
}

}  // namespace

PreparedLayer::PreparedLayer(std::unique_ptr<const cpu::KeptLayer> kept) noexcept : kept_(std::move(kept)) {}
PreparedLayer::PreparedLayer(PreparedLayer&&) noexcept = default;
PreparedLayer& PreparedLayer::operator=(PreparedLayer&&) noexcept = default;
PreparedLayer::~PreparedLayer() = default;

const cpu::KeptLayer& PreparedLayer::kept() const {
  if (kept_ == nullptr) throw Error("PreparedLayer", {"", "hold a layer", "moved from"});
  return *kept_;
}

const LayerPlan& PreparedLayer::layer() const { return kept().layer; }
const LayerWeights& PreparedLayer::weights() const { return kept().weights; }
Isa PreparedLayer::isa() const { return kept().isa; }

std::int64_t PreparedLayer::bytes() const {
  std::int64_t sum = 0;
  for (const cpu::TermVectors& term : kept().terms) sum += cpu::bytes_of(term);
  return sum;
}

// Lowers the score terms alone, for the distances that the mask lets through up to max_distance.
PreparedLayer prepare_layer(const LayerPlan& layer, const LayerWeights& weights, const PrepareOptions& options) {
  check_parallel(kPrepareLayer, options.parallel);
  check_weights(layer, weights);
  check_distance(layer, options.max_distance);
  auto kept = std::make_unique<cpu::KeptLayer>(
      cpu::KeptLayer{.layer = layer,
                     .weights = weights,
                     .isa = options.isa == Isa::automatic ? selected_isa() : options.isa,
                     .terms = {}});
  const kernels::KernelTable& kernels = cpu::kernels_for(kPrepareLayer, options.isa);
  const cpu::TermMaker make{layer.heads, layer.head_dim, *kernels.attention, options.parallel, true};
  const cpu::DistanceRange seen = cpu::seen_by(layer.mask, {-options.max_distance, options.max_distance});
  for (const math::Term& term : cpu::lower_terms(layer, weights, seen)) kept->terms.push_back(make(term));
  return cpu::KeptLayerAccess::make(std::move(kept));
}

}  // namespace posenc::inline v0_2
