// posenc_attend, posenc_prepare_layer and posenc_merge of posenc/c.h: attend.h, prepared_layer.h and merge for C.
// Learned tables come by name (named_weights.h). What is computed and checked is the C++ call's.
#include "posenc/attend.h"

#include <vector>

#include "c/arguments.h"
#include "c/attend_inputs.h"
#include "c/masked_layer.h"
#include "c/status.h"

namespace posenc::c {
namespace {

constexpr const char* kAttend = "posenc_attend";
constexpr const char* kPrepare = "posenc_prepare_layer";
constexpr const char* kMerge = "posenc_merge";

// All but the weights.
AttendArgs args_of(const posenc_attend_args& given, AttendWork& work) {
  return {.out = view(kAttend, "out", given.out),
          .q = view(kAttend, "q", given.q),
          .k = view(kAttend, "k", given.k),
          .v = view(kAttend, "v", given.v),
          .k_quantised = quantised_if(kAttend, "k_quantised", given.k_quantised),
          .v_quantised = quantised_if(kAttend, "v_quantised", given.v_quantised),
          .pages = {list(kAttend, "block_table", given.block_table, given.block_table_count)},
          .inputs = attention_inputs(kAttend, given),
          .lse = view(kAttend, "lse", given.lse),
          .carry = view(kAttend, "carry", given.carry),
          .angles = angles_of(kAttend, "angles", given.angles),
          .products = products_of(kAttend, "products", given.products),
          .parallel = parallel_of(given.threads, given.executor),
          .work = &work,
          .keep_going = keep_going_of(given.keep_going, given.keep_going_context)};
}

// With a prepared layer, or with a layer of a plan; false where keep_going cancelled the call.
bool attended(const posenc_attend_args& given, AttendWork& work) {
  AttendArgs args = args_of(given, work);
  if (given.prepared != nullptr) {
    require_no_layer(kAttend, given);
    return attend(given.prepared->layer, args);
  }
  // The layer with the caller's mask, where there is one; else unused. It must live until attend has returned.
  LayerPlan changed;
  const LayerPlan& layer = masked_layer(kAttend, given, changed);
  args.weights = attention_weights(kAttend, given, layer);
  return attend(layer, args);
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_prepare_layer(const posenc_prepare_layer_args* args, posenc_prepared_layer** prepared) {
  return c::guarded([&] {
    const posenc_prepare_layer_args& given = c::sized(c::kPrepare, "args", args);
    posenc_prepared_layer*& to = c::required(c::kPrepare, "prepared", prepared);
    posenc::LayerPlan changed;
    const posenc::LayerPlan& layer = c::masked_layer(c::kPrepare, given, changed);
    posenc::PrepareOptions options{.parallel = c::parallel_of(given.threads, given.executor)};
    if (given.max_distance != 0) options.max_distance = given.max_distance;
    // prepare_layer copies the plan's layer, so `changed` may go; the weights stay views of the caller's memory.
    to = new posenc_prepared_layer{prepare_layer(layer, c::attention_weights(c::kPrepare, given, layer), options)};
  });
}

void posenc_prepared_layer_free(posenc_prepared_layer* prepared) { delete prepared; }

posenc_status posenc_attend(const posenc_attend_args* args) {
  return c::guarded([&]() -> posenc_status {
    const posenc_attend_args& given = c::sized(c::kAttend, "args", args);
    // Written to the caller's struct on success only, as every output.
    posenc::AttendWork work;
    if (!c::attended(given, work)) return c::keep(POSENC_CANCELLED, "[posenc_attend] keep_going returned false");
    if (given.work != nullptr) *given.work = {.tiles = work.tiles, .skipped = work.skipped};
    return POSENC_OK;
  });
}

posenc_status posenc_merge(const posenc_merge_args* args) {
  return c::guarded([&] {
    const posenc_merge_args& given = c::sized(c::kMerge, "args", args);
    std::vector<posenc::AttendPart> parts;
    for (const posenc_attend_part& part : c::list(c::kMerge, "parts", given.parts, given.parts_count)) {
      parts.push_back({c::view(c::kMerge, "parts' out", part.out), c::view(c::kMerge, "parts' lse", part.lse)});
    }
    posenc::merge({.out = c::view(c::kMerge, "out", given.out),
                   .lse = c::view(c::kMerge, "lse", given.lse),
                   .parts = parts,
                   .sinks = c::view(c::kMerge, "sinks", given.sinks)});
  });
}
