// A layer's learned tables by name: the names that files for `posenc attend --weights` use, and posenc/c.h. docs/cli.md
// lists them.
//
// A table is called as its member in attention.h is: "table", "r1", "hidden.weight". Of a layer with several score
// terms, those of term n are called "n.table" and so on; the table of ShawValues is "value_table", sinks are "sinks".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// The shape of a gradient (attend_backward.h) by its name: that of its tensor, [1] for FIRE's c and threshold. Throws
// Error for a name that gradient_names() has not.
POSENC_API std::vector<std::int64_t> gradient_shape(const LayerPlan& layer, const LayerWeights& weights,
                                                    std::string_view name);

}  // namespace posenc::inline v0_2
