// Where a config makes the rotation's positions depend on how far the key is: dual chunk attention (arXiv 2402.17463),
// which Qwen2.5-1M has. What it does stands in posenc/schemes.h.
#pragma once

#include <string>
#include <vector>

#include "plan/scope/config_scope.h"
#include "posenc/plan.h"
#include "posenc/schemes.h"

namespace posenc::plan {

struct ReadRegions {
  Regions regions{};
  std::string from;
  bool known = true;  // false: the file asks for more than a plan can say, and a warning names it
};

// Of a family whose models have dual_chunk_attention_config; none elsewhere, and where the file has no such key.
ReadRegions read_regions(ConfigScope& scope);

// Where a layer has both: vLLM's DualChunkRotaryEmbedding rotates by the plain frequencies, whatever rule stands beside
// it.
void warn_of_scaled_chunks(ConfigScope& scope, const ReadRegions& regions, const std::vector<LayerPlan>& layers);

}  // namespace posenc::plan
