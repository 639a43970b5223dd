#include "plan/layers/block_sparse.h"

#include <string_view>

#include "base/formatted.h"

namespace posenc::plan {
namespace {

constexpr Bounds kBlockCounts{1, kMaxPosition};

// vLLM phi3_small.py: every layer but each n-th (dense_attention_every_n_layers); absent: every layer.
void read_phi3small(ConfigScope& scope, LayerPattern& pattern) {
  const Sourced<std::int64_t> size = scope.required_integer(keys::kBlockSize, kBlockCounts);
  const Sourced<std::int64_t> local = scope.required_integer(keys::kLocalBlocks, kBlockCounts);
  const Sourced<std::int64_t> stride = scope.required_integer(keys::kBlockStride, kBlockCounts);
  const Setting<std::int64_t> dense = scope.integer(keys::kDenseInterval, kBlockCounts);
  const std::int64_t n = dense.value.value_or(0);
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    pattern.layers[i].block_sparse = n == 0 || (static_cast<std::int64_t>(i) + 1) % n != 0;
  }
  pattern.blocks_detail =
      formatted("causal, in blocks of {} keys: the {} nearest blocks and each {}th, shifted by head", size.value,
                local.value, stride.value);
  pattern.blocks_from = size.from;
}

// llama.cpp models/rugpt3xl.cpp: even layers; DeepSpeed's FixedSparsityConfig.
void read_alternating(ConfigScope& scope, LayerPattern& pattern) {
  const auto mode = scope.find(keys::kSparseMode);
  if (!mode) return;
  if (scope.reader().string(*mode) != "alternating") {
    scope.reader().fail(*mode, ErrorKind::out_of_range, "\"alternating\"");
    return;
  }
  const Sourced<std::int64_t> size = scope.required_integer(keys::kBlockSize, kBlockCounts);
  const Sourced<std::int64_t> local = scope.required_integer(keys::kLocalBlocks, kBlockCounts);
  const Sourced<std::int64_t> global = scope.required_integer(keys::kGlobalBlocks, kBlockCounts);
  for (std::size_t i = 0; i < pattern.layers.size(); i += 2) pattern.layers[i].block_sparse = true;
  pattern.blocks_detail =
      formatted("causal, in blocks of {} keys: the own group of {} blocks and the last {} of each group, by head",
                size.value, local.value, global.value);
  pattern.blocks_from = mode->from;
}

}  // namespace

void read_block_sparse(ConfigScope& scope, LayerPattern& pattern) {
  switch (scope.family().block_sparse) {
    case BlockSparse::none: break;
    case BlockSparse::dense_interval: return read_phi3small(scope, pattern);
    case BlockSparse::alternating: return read_alternating(scope, pattern);
  }
}

}  // namespace posenc::plan
