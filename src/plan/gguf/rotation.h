// The rotation of one kind of layer of a GGUF file.
#pragma once

#include <optional>
#include <vector>

#include "plan/facts/sourced.h"
#include "plan/gguf/factors.h"
#include "plan/gguf/layers.h"
#include "plan/gguf/scope.h"
#include "posenc/rope.h"

namespace posenc::plan {

struct GgufRotationDraft {
  std::optional<Rope> rope;  // none after an error
  std::vector<FieldSource> sources;
};

GgufRotationDraft read_gguf_rotation(GgufScope& scope, const GgufLayers& facts, const GgufFactors& factors,
                                     bool slides);

}  // namespace posenc::plan
