// What the opaque handles of posenc/c.h hold: a Plan, a RotaryTable, a PreparedInput, a PreparedLayer, Vectors. Handles
// never change once they are made, so threads may share them. The structs are incomplete to C: their layout, and the
// containers in them, may change without a new C ABI. A handle is made by a function that takes its address last,
// belongs to the caller, and ends in its _free function.
#pragma once

#include "posenc/add_input.h"
#include "posenc/c.h"
#include "posenc/plan.h"
#include "posenc/prepared_layer.h"
#include "posenc/rotary_table.h"
#include "posenc/vectors.h"

struct posenc_plan {
  posenc::Plan plan;
};

struct posenc_table {
  posenc::RotaryTable table;
};

// Learned tables are views: the caller's memory must outlive the handle.
struct posenc_prepared_input {
  posenc::PreparedInput input;
};

// Its weights are views: the caller's memory must outlive the handle.
struct posenc_prepared_layer {
  posenc::PreparedLayer layer;
};

struct posenc_vectors {
  posenc::Vectors vectors;
};

namespace posenc::c {

// Throws Error when there is no such stack or layer. `stack` NULL: the first.
const Stack& stack_of(const char* where, const posenc_plan& plan, const char* stack);
const LayerPlan& layer_of(const char* where, const posenc_plan& plan, const char* stack, std::int64_t layer);

}  // namespace posenc::c
