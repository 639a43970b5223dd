// A layer's learned tables by name: the names that files for `posenc attend --weights` use, and posenc/c.h. docs/cli.md
// lists them.
//
// A table is called as its member in attention.h is: "table", "r1", "hidden.weight". Of a layer with several score
// terms, those of term n are called "n.table" and so on; the table of ShawValues is "value_table", sinks are "sinks".
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "posenc/attention.h"
#include "posenc/export.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// The tensor of a name; no tensor (rank 0) where there is none. What is_needed is never omitted in a valid call.
using FindWeight = std::function<ConstTensorView(const std::string& name, bool is_needed)>;

// Asks for each table that the layer has, once. Throws Error for FIRE's c and threshold that are not one number.
POSENC_API LayerWeights named_weights(const LayerPlan& layer, const FindWeight& find);

struct NamedWeight {
  std::string_view name;
  ConstTensorView tensor;
};

// Throws Error too for a table that is needed and not given, for a name that the layer has no table of, and for one
// that is given twice.
POSENC_API LayerWeights named_weights(const LayerPlan& layer, std::span<const NamedWeight> given);

}  // namespace posenc::inline v0_2
