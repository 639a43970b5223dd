#include "posenc/attend.h"

#include <string_view>
#include <vector>

#include "c/arguments.h"
#include "c/masked_layer.h"
#include "c/status.h"
#include "posenc/named_weights.h"

namespace posenc::c {
namespace {

constexpr const char* kAttend = "posenc_attend";
constexpr const char* kMerge = "posenc_merge";

std::vector<NamedWeight> weights_of(const posenc_attend_args& given) {
  std::vector<NamedWeight> out;
  for (const posenc_named_tensor& one : list(kAttend, "weights", given.weights, given.weights_count)) {
    const std::string_view name = &required(kAttend, "weights' name", one.name);
    out.push_back({name, view(kAttend, "weights' tensor", one.tensor)});
  }
  return out;
}

LayerInputs inputs_of(const posenc_attend_args& given) {
  LayerInputs out{.q_positions = positions_if(kAttend, "q_positions", given.q_positions),
                  .k_positions = positions_if(kAttend, "k_positions", given.k_positions),
                  .q_order = list(kAttend, "q_order", given.q_order, given.q_order_count),
                  .k_order = list(kAttend, "k_order", given.k_order, given.k_order_count),
                  .cu_seqlens_q = list(kAttend, "cu_seqlens_q", given.cu_seqlens_q, given.cu_seqlens_q_count),
                  .cu_seqlens_k = list(kAttend, "cu_seqlens_k", given.cu_seqlens_k, given.cu_seqlens_k_count),
                  .prefix = given.prefix,
                  .visible = view(kAttend, "visible", given.visible),
                  .bias = view(kAttend, "bias", given.bias),
                  .q_segments = list(kAttend, "q_segments", given.q_segments, given.q_segments_count),
                  .k_segments = list(kAttend, "k_segments", given.k_segments, given.k_segments_count),
                  .log_forget = view(kAttend, "log_forget", given.log_forget),
                  .row_gate = view(kAttend, "row_gate", given.row_gate),
                  .queries_are_turned = given.queries_are_turned != 0,
                  .keys_are_turned = given.keys_are_turned != 0};
  if (given.length != 0) out.length = given.length;
  return out;
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_attend(const posenc_attend_args* args) {
  return c::guarded([&]() -> posenc_status {
    const posenc_attend_args& given = c::sized(c::kAttend, "args", args);
    posenc::LayerPlan changed;
    const posenc::LayerPlan& layer = c::masked_layer(c::kAttend, given, changed);
    posenc::AttendWork work;
    const bool is_done =
        attend(layer, {.out = c::view(c::kAttend, "out", given.out),
                       .q = c::view(c::kAttend, "q", given.q),
                       .k = c::view(c::kAttend, "k", given.k),
                       .v = c::view(c::kAttend, "v", given.v),
                       .pages = {c::list(c::kAttend, "block_table", given.block_table, given.block_table_count)},
                       .weights = named_weights(layer, c::weights_of(given)),
                       .inputs = c::inputs_of(given),
                       .lse = c::view(c::kAttend, "lse", given.lse),
                       .carry = c::view(c::kAttend, "carry", given.carry),
                       .angles = c::angles_of(c::kAttend, "angles", given.angles),
                       .parallel = c::parallel_of(given.threads, given.executor),
                       .work = &work,
                       .go_on = c::go_on_of(given.go_on, given.go_on_context)});
    if (!is_done) return c::keep(POSENC_ENDED, "[posenc_attend] go_on ended the call");
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
