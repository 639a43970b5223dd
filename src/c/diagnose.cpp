// posenc_diagnose, posenc_diagnose_attention and posenc_diagnose_pairing of posenc/c.h: diagnose.h,
// diagnose_attention.h and diagnose_weights.h for C, their reports as JSON in the caller's memory.
#include "posenc/diagnose.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "c/arguments.h"
#include "c/status.h"
#include "posenc/diagnose_attention.h"
#include "posenc/diagnose_weights.h"
#include "posenc/named_weights.h"

namespace posenc::c {
namespace {

posenc_verdict verdict_of(PortVerdict verdict) {
  switch (verdict) {
    case PortVerdict::as_the_plan: return POSENC_AS_THE_PLAN;
    case PortVerdict::differs: return POSENC_DIFFERS;
    case PortVerdict::cannot_tell: return POSENC_CANNOT_TELL;
    case PortVerdict::recovered: return POSENC_RECOVERED;
  }
  return POSENC_CANNOT_TELL;
}

void write(const char* where, const std::string& text, char* json, size_t* size) {
  if (json == nullptr && size == nullptr) return;
  const std::size_t room = required(where, "size", size);
  *size = text.size() + 1;
  if (json == nullptr) return;
  if (room < text.size() + 1) {
    throw Error(where, {"*size", "be at least " + std::to_string(text.size() + 1), std::to_string(room)});
  }
  std::memcpy(json, text.c_str(), text.size() + 1);
}

// The verdict first: it stands where there is too little room for the text.
void give(const char* where, PortVerdict found, const std::string& text, posenc_verdict* verdict, char* json,
          size_t* size) {
  if (verdict != nullptr) *verdict = verdict_of(found);
  write(where, text, json, size);
}

// The layer's rotation of that number, or null without a plan.
const Rotate* rotate_of(const char* where, const posenc_diagnose_args& given) {
  if (given.plan == nullptr) {
    if (given.stack != nullptr || given.layer != 0 || given.rotation != 0) {
      throw Error(where, {"plan", "be given with stack, layer and rotation", "NULL"});
    }
    return nullptr;
  }
  const LayerPlan& layer = layer_of(where, *given.plan, given.stack, given.layer);
  if (given.rotation < 0 || given.rotation >= std::ssize(layer.rotate)) {
    throw Error(where, {"rotation", "be at least 0 and below " + std::to_string(layer.rotate.size()),
                        std::to_string(given.rotation)});
  }
  return &layer.rotate[static_cast<std::size_t>(given.rotation)];
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_diagnose(const posenc_diagnose_args* args, posenc_verdict* verdict, char* json, size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_diagnose";
    const posenc_diagnose_args& given = c::sized(kWhere, "args", args);
    c::require_reserved(kWhere, "args->reserved", given.reserved);
    posenc::DiagnoseArgs queries{
        .before = c::view(kWhere, "before", given.before),
        .after = c::view(kWhere, "after", given.after),
        .rotate = c::rotate_of(kWhere, given),
        .plan = given.plan == nullptr ? nullptr : &given.plan->plan,
        .positions = c::list(kWhere, "positions", given.positions, given.positions_count),
    };
    if (given.has_start != 0) queries.start = given.start;
    if (given.length != 0) queries.length = given.length;
    posenc::DiagnoseArgs keys = queries;
    keys.before = c::view(kWhere, "before_k", given.before_k);
    keys.after = c::view(kWhere, "after_k", given.after_k);
    if (keys.before.empty() != keys.after.empty()) {
      throw posenc::Error(kWhere, {"before_k and after_k", "be given both or not at all", "one of them"});
    }
    if (keys.before.empty()) {
      const posenc::Diagnosis found = posenc::diagnose(queries);
      c::give(kWhere, found.verdict, to_json(found), verdict, json, size);
    } else {
      const posenc::BothDiagnosis found = posenc::diagnose_both(queries, keys);
      c::give(kWhere, found.verdict, to_json(found), verdict, json, size);
    }
  });
}

posenc_status posenc_diagnose_attention(const posenc_diagnose_attention_args* args, posenc_verdict* verdict, char* json,
                                        size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_diagnose_attention";
    const posenc_diagnose_attention_args& given = c::sized(kWhere, "args", args);
    c::require_reserved(kWhere, "args->reserved", given.reserved);
    const posenc_plan& plan = c::required(kWhere, "plan", given.plan);
    const posenc::LayerPlan& layer = c::layer_of(kWhere, plan, given.stack, given.layer);
    std::vector<posenc::NamedWeight> tables;
    for (const posenc_named_tensor& one : c::list(kWhere, "tables", given.tables, given.tables_count)) {
      tables.push_back({&c::required(kWhere, "tables' name", one.name), c::view(kWhere, "tables' tensor", one.tensor)});
    }
    const posenc::AttentionDiagnosis found =
        posenc::diagnose_attention({.q = c::view(kWhere, "q", given.q),
                                    .k = c::view(kWhere, "k", given.k),
                                    .v = c::view(kWhere, "v", given.v),
                                    .scores = c::view(kWhere, "scores", given.scores),
                                    .weights = c::view(kWhere, "weights", given.weights),
                                    .out = c::view(kWhere, "out", given.out),
                                    .layer = &layer,
                                    .plan = &plan.plan,
                                    .learned = posenc::named_weights(layer, tables),
                                    .rotated = given.unrotated == 0,
                                    .q_order = c::list(kWhere, "q_order", given.q_order, given.q_order_count),
                                    .k_order = c::list(kWhere, "k_order", given.k_order, given.k_order_count),
                                    .attn_mask = c::view(kWhere, "attn_mask", given.attn_mask),
                                    .prefix = given.prefix,
                                    .sequence = given.sequence});
    c::give(kWhere, found.verdict, to_json(found), verdict, json, size);
  });
}

posenc_status posenc_diagnose_pairing(const posenc_diagnose_pairing_args* args, posenc_pairing* pairing, char* json,
                                      size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_diagnose_pairing";
    const posenc_diagnose_pairing_args& given = c::sized(kWhere, "args", args);
    const std::int64_t dim =
        given.dim != 0 ? given.dim : std::max<std::int64_t>(given.head_dim - given.first_channel, 0);
    std::vector<posenc::QueryKeyRows> rows;
    for (const posenc_query_key_rows& one : c::list(kWhere, "layers", given.layers, given.layers_count)) {
      rows.push_back({.q = c::view(kWhere, "q", one.q),
                      .k = c::view(kWhere, "k", one.k),
                      .head_dim = given.head_dim,
                      .first_channel = given.first_channel,
                      .dim = dim});
    }
    const posenc::PairingDiagnosis found = posenc::diagnose_pairing(rows);
    if (pairing != nullptr) {
      *pairing = !found.pairing ? 0 : *found.pairing == posenc::Pairing::half ? POSENC_HALF : POSENC_INTERLEAVED;
    }
    c::write(kWhere, to_json(found), json, size);
  });
}
