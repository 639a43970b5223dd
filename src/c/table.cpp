// Tables of cos and sin for C: posenc_table of a layer of a plan or of the caller's own inv_freq, rotary_table.h.
// posenc_table_of_layer makes a table without rows where count is 0: rows are then made by each call, for any position.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "c/arguments.h"
#include "c/handles.h"
#include "c/status.h"

namespace posenc::c {
namespace {

// 0, which POSENC_LAYOUT_INIT leaves, is none: a pairing that was forgotten is refused, as C++ does by Required.
Pairing pairing_of(const char* where, posenc_pairing pairing) {
  if (pairing == POSENC_HALF) return Pairing::half;
  if (pairing == POSENC_INTERLEAVED) return Pairing::interleaved;
  throw Error(where, {"layout->pairing", "be POSENC_HALF or POSENC_INTERLEAVED",
                      pairing == 0 ? "not given" : std::to_string(pairing)});
}

// NULL: the defaults of TableOptions. length 0: none. angles are checked here, start and count by make_table.
TableOptions options_of(const char* where, const posenc_table_options* given) {
  TableOptions out;
  if (given == nullptr) return out;
  const posenc_table_options& options = sized(where, "options", given);
  require_reserved(where, "options->reserved", options.reserved);
  out.start = options.start;
  out.count = options.count;
  if (options.length != 0) out.length = options.length;
  out.angles = angles_of(where, "options->angles", options.angles);
  return out;
}

// The handle is the caller's from here on: posenc_table_free deletes it.
void give(RotaryTable table, posenc_table*& to) {
  to = std::make_unique<posenc_table>(posenc_table{std::move(table)}).release();
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_table_of_layer(const posenc_plan* plan, const char* stack, int64_t layer,
                                    const posenc_table_options* options, posenc_table** table) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_table_of_layer";
    c::required(kWhere, "table", table);
    const posenc::LayerPlan& found = c::layer_of(kWhere, c::required(kWhere, "plan", plan), stack, layer);
    // The main rotation; that of an indexer (DeepSeek V3.2) has no table in C.
    const auto rotates = std::ranges::find(found.rotate, posenc::RotateRole::main, &posenc::Rotate::role);
    if (rotates == found.rotate.end()) {
      throw posenc::Error(kWhere, {"layer", "rotate queries and keys", std::to_string(layer) + ", which does not"});
    }
    const posenc::TableOptions wanted = c::options_of(kWhere, options);
    const posenc::Rope& scheme = rope(*rotates);
    c::give(wanted.count == 0 ? table_on_demand(scheme, wanted) : make_table(scheme, wanted), *table);
  });
}

posenc_status posenc_table_of_frequencies(const posenc_layout* layout, const double* inv_freq, double attention_factor,
                                          const posenc_table_options* options, posenc_table** table) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_table_of_frequencies";
    c::required(kWhere, "table", table);
    c::required(kWhere, "inv_freq", inv_freq);
    const posenc_layout& given = c::sized(kWhere, "layout", layout);
    const posenc::RotaryLayout channels{.pairing = c::pairing_of(kWhere, given.pairing),
                                        .head_dim = given.head_dim,
                                        .first_channel = given.first_channel,
                                        .dim = given.dim};
    // posenc_layout says how many axes there are, but not which pair belongs to which: that comes from a plan alone.
    if (given.axes != 1) {
      throw posenc::Error(kWhere, {"layout->axes", "be 1 for frequencies of your own", std::to_string(given.axes)});
    }
    // Before that many frequencies are read.
    const posenc::Rope same{.pairing = channels.pairing,
                            .head_dim = channels.head_dim,
                            .first_channel = channels.first_channel,
                            .dim = channels.dim,
                            .scaling = {},
                            .axes = {}};
    if (const auto problem = check(same)) {
      throw posenc::Error(kWhere, {"layout->" + problem->field, problem->must, problem->is});
    }
    const posenc::TableOptions wanted = c::options_of(kWhere, options);
    if (wanted.count < 1) {  // a table on demand is of a plan's layer alone
      throw posenc::Error(kWhere, {"options->count", "be at least 1",
                                   options == nullptr ? "0, as options is NULL" : std::to_string(wanted.count)});
    }
    const std::span frequencies(inv_freq, static_cast<std::size_t>(given.dim / 2));
    c::give(make_table(channels, {{frequencies.begin(), frequencies.end()}, attention_factor}, wanted), *table);
  });
}

void posenc_table_free(posenc_table* table) { delete table; }

posenc_status posenc_table_layout(const posenc_table* table, posenc_layout* layout) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_table_layout";
    const posenc::RotaryLayout& of = c::required(kWhere, "table", table).table.layout();
    posenc_layout& to = c::sized(kWhere, "layout", layout);
    // dim / 2 pairs from first_channel on; a caller that rotates by itself needs no more, but for several axes.
    to.pairing = of.pairing == posenc::Pairing::half ? POSENC_HALF : POSENC_INTERLEAVED;
    to.axes = static_cast<std::int32_t>(of.axes.names.size());
    to.head_dim = of.head_dim;
    to.first_channel = of.first_channel;
    to.dim = of.dim;
  });
}

double posenc_table_attention_factor(const posenc_table* table) {
  return table == nullptr ? 0.0 : table->table.attention_factor();
}
