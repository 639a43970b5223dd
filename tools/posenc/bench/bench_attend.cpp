// posenc bench attend: which layers and sizes are timed (timed_layers), with which tables (measure_all), and the report
// as text and as JSON. docs/cli.md says what its columns are, docs/performance.md how it is measured.
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attend/attend_layer.h"
#include "bench/attend_speed.h"
#include "bench/bench_command.h"
#include "bench/bench_words.h"
#include "inspect/stage_text.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/progress.h"
#include "line/text.h"
#include "posenc/error.h"
#include "properties/drawn_tables.h"
#include "tensors/machine_options.h"

namespace posenc::tool {
namespace {

struct Size {
  std::int64_t queries;
  std::int64_t keys;
};
// Tokens of prompts (prefill), and keys in the KV cache of a decode step of one query.
constexpr std::array<std::int64_t, 2> kPrompts{512, 1024};
constexpr std::int64_t kCached = 4096;

// A layer, as it is timed.
// `layer`: a copy of the choice's, of which a sparse mask is replaced. `sizes`: those that it can be timed at.
struct TimedLayer {
  AttendingLayer choice;
  LayerPlan layer;
  std::vector<Size> sizes{};
};

struct MeasuredAttend {
  Size size;
  DType dtype = DType::f32;
  AttendSpeed speed;
};

struct MeasuredLayer {
  TimedLayer timed;
  std::vector<MeasuredAttend> all{};
};

// ---- what is timed ----

// Prefill sizes, then decode as the last, which pop_back() below takes away again.
std::vector<Size> sizes_of(const LayerPlan& layer, const BenchAttendArguments& arguments) {
  if (const std::optional<std::int64_t> window = grid_tokens(layer)) {
    if (arguments.tokens) throw UsageError{formatted("--tokens: this layer attends in windows of {}", *window)};
    return {{*window, *window}};
  }
  std::vector<Size> out;
  if (arguments.tokens) {
    out = {{*arguments.tokens, *arguments.tokens}, {1, *arguments.tokens}};
  } else {
    for (const std::int64_t tokens : kPrompts) out.push_back({tokens, tokens});
    out.push_back({1, kCached});
  }
  // Bidirectional attention does not decode, but cross-attention of a decoder does; nothing is learned by decoding.
  if ((layer.mask.kind == MaskKind::bidirectional && !arguments.cross) || arguments.backward) out.pop_back();
  return out;
}

// Exit code 4 for a layer whose number of heads the plan does not know.
TimedLayer timed(const AttendingLayer& choice, const BenchAttendArguments& arguments) {
  TimedLayer out{.choice = choice, .layer = *choice.layer};
  if (out.layer.heads == 0) {
    throw failure(kMalformed, "the number of heads of this layer is not known, so there is nothing to time");
  }
  // What a learned indexer would pick is not known: all keys up to the query.
  if (out.layer.mask.kind == MaskKind::sparse) out.layer.mask = {.kind = MaskKind::causal};
  out.sizes = sizes_of(out.layer, arguments);
  return out;
}

// One of each kind in the first stack that has any.
std::vector<TimedLayer> timed_layers(const Plan& plan, const BenchAttendArguments& arguments) {
  std::vector<AttendingLayer> kinds = attending_kinds(plan, {arguments.stack, arguments.layer, arguments.cross});
  std::erase_if(kinds, [first = kinds.front().stack](const AttendingLayer& kind) { return kind.stack != first; });
  if (arguments.weights && kinds.size() > 1) {
    throw UsageError{"--layer is needed: --weights are those of one kind of layer"};
  }
  std::vector<TimedLayer> out;
  for (const AttendingLayer& kind : kinds) out.push_back(timed(kind, arguments));
  return out;
}

// By layer, size and dtype, in that order. Inputs of a call depend on its size, learned tables on the layer alone.
std::vector<MeasuredLayer> measure_all(std::vector<TimedLayer> layers, const BenchAttendArguments& arguments) {
  const std::vector<DType> dtypes =
      arguments.dtype ? std::vector{*arguments.dtype} : std::vector{DType::f32, DType::bf16};
  std::int64_t cases = 0;
  for (const TimedLayer& one : layers) cases += std::ssize(one.sizes) * std::ssize(dtypes);
  const AskedThreads threads(arguments.threads);
  Progress progress;
  std::int64_t done = 0;
  std::vector<MeasuredLayer> out;
  for (TimedLayer& one : layers) {
    MeasuredLayer& measured = out.emplace_back(MeasuredLayer{std::move(one)});
    const LayerPlan& layer = measured.timed.layer;
    const std::string& name = measured.timed.choice.name;
    LayerTables tables = arguments.weights ? read_tables(arguments.weights, layer, name) : draw_tables(layer);
    for (const Size& size : measured.timed.sizes) {
      draw_inputs(layer, size.queries, size.keys, tables);
      for (const DType dtype : dtypes) {
        progress.show("measuring", done++, cases);
        const AttendSpeedCase one_case{
            layer, tables, size.queries, size.keys, dtype, arguments.products, arguments.backward};
        try {
          measured.all.push_back({size, dtype, measure_attention(one_case, arguments.isa, threads.pool())});
        } catch (const Error& error) {  // tables that do not fit the layer; what attend refuses
          throw failure(kMalformed, formatted("{}: {}", name, error.what()));
        }
      }
    }
  }
  return out;
}

// What is used in fact, for the report.
Isa isa_of(const BenchAttendArguments& arguments) {
  return arguments.isa == Isa::automatic ? selected_isa() : arguments.isa;
}

Products products_of(const BenchAttendArguments& arguments) { return products_on(arguments.isa, arguments.products); }

// ---- for people ----

// Indent 2, the longest label ("products") 8, a gap of 1.
constexpr std::int64_t kColumn = 11;

// One row of the table. `limit` is the one of which the larger fraction is reached.
std::vector<std::string> attend_row(const MeasuredAttend& m) {
  const AttendSpeed& s = m.speed;
  const bool multiplies = s.of_multiply_adds.median >= s.of_reading.median;
  return {std::to_string(m.size.queries),
          std::to_string(m.size.keys),
          std::string(name(m.dtype)),
          three_digits(s.attend.median * 1e3),
          multiplies ? "FMA" : "reads",
          ratio_text(multiplies ? s.of_multiply_adds : s.of_reading),
          s.over_plain ? ratio_text(*s.over_plain) : "no positions"};
}

std::vector<std::string> backward_row(const MeasuredAttend& m, const BackwardSpeed& s) {
  return {std::to_string(m.size.queries),        std::to_string(m.size.keys),    std::string(name(m.dtype)),
          three_digits(s.backward.median * 1e3), ratio_text(s.of_multiply_adds), ratio_text(s.over_attend)};
}

void add_layer(Page& page, const MeasuredLayer& measured) {
  const LayerPlan& layer = measured.timed.layer;
  page.blank();
  page.line(page.paint(Style::bold, measured.timed.choice.name));
  page.entry(2, "attends", kColumn,
             formatted("q [queries, {}, {}], k [keys, {}, {}], v [keys, {}, {}]", layer.heads, layer.head_dim,
                       layer.kv_heads, layer.head_dim, layer.kv_heads, layer.value_dim));
  for (const Rotate& one : layer.rotate) page.entry(2, "rotate", kColumn, rotate_text(one, {}));
  for (const ScoreTerm& term : layer.score) page.entry(2, "score", kColumn, score_text(term));
  page.entry(2, "mask", kColumn, mask_text(layer.mask));
  std::vector<std::vector<std::string>> rows{{"queries", "keys", "dtype", "ms", "limit", "of it", "over no positions"}};
  std::vector<std::vector<std::string>> backward{{"queries", "keys", "dtype", "backward, ms", "of FMA", "over attend"}};
  for (const MeasuredAttend& m : measured.all) {
    rows.push_back(attend_row(m));
    if (m.speed.backward) backward.push_back(backward_row(m, *m.speed.backward));
  }
  page.table(2, rows);
  if (backward.size() > 1) page.table(2, backward);
}

std::string attend_bench_text(const std::vector<MeasuredLayer>& layers, const Plan& plan,
                              const BenchAttendArguments& arguments) {
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, printable(plan.source.name)));
  page.entry(2, "machine", kColumn, machine_text(isa_of(arguments)));
  page.entry(2, "time", kColumn,
             arguments.threads == 1 ? "CPU time of one thread"
                                    : formatted("wall-clock time of {} threads", arguments.threads));
  if (products_of(arguments) == Products::bf16) page.entry(2, "products", kColumn, "bf16, where that is faster");
  for (const MeasuredLayer& layer : layers) add_layer(page, layer);
  page.blank();
  page.entry(2, "", 2,
             formatted("FMA: peak FLOP/s, multiply-adds on registers; reads: memory bandwidth, a pass that only reads "
                       "the same keys and values; the nearer limit is given. A decode query finds its keys rotated, "
                       "in a KV cache. Medians (min to max) of {} rounds in which all alternate; a ratio is taken "
                       "within a round.",
                       kAttendRounds));
  return page.text();
}

// ---- JSON ----

std::string backward_json(const BackwardSpeed& s) {
  return json_object({{"operations", json_number(s.operations)},
                      {"seconds", spread_json(s.backward)},
                      {"of_multiply_adds", spread_json(s.of_multiply_adds)},
                      {"over_attend", spread_json(s.over_attend)}});
}

// `over_no_positions` is null of a layer that has none, `backward` where it was not asked for.
std::string attend_measured_json(const MeasuredAttend& m) {
  const AttendSpeed& s = m.speed;
  return json_object({{"queries", std::to_string(m.size.queries)},
                      {"keys", std::to_string(m.size.keys)},
                      {"dtype", json_string(name(m.dtype))},
                      {"operations", json_number(s.operations)},
                      {"bytes", std::to_string(s.bytes)},
                      {"seconds", spread_json(s.attend)},
                      {"of_multiply_adds", spread_json(s.of_multiply_adds)},
                      {"of_reading", spread_json(s.of_reading)},
                      {"over_no_positions", s.over_plain ? spread_json(*s.over_plain) : "null"},
                      {"backward", s.backward ? backward_json(*s.backward) : "null"}});
}

std::string layer_json(const MeasuredLayer& measured) {
  const LayerPlan& layer = measured.timed.layer;
  std::vector<std::string> cases;
  for (const MeasuredAttend& m : measured.all) cases.push_back(attend_measured_json(m));
  return json_object({{"layers", json_string(measured.timed.choice.name)},
                      {"layer", std::to_string(measured.timed.choice.layer->index)},
                      {"heads", std::to_string(layer.heads)},
                      {"kv_heads", std::to_string(layer.kv_heads)},
                      {"head_dim", std::to_string(layer.head_dim)},
                      {"value_dim", std::to_string(layer.value_dim)},
                      {"cases", json_array(cases)}});
}

std::string attend_bench_json(const std::vector<MeasuredLayer>& layers, const Plan& plan,
                              const BenchAttendArguments& arguments) {
  std::vector<std::string> all;
  for (const MeasuredLayer& layer : layers) all.push_back(layer_json(layer));
  const Info machine = info();
  return json_object({{"schema_version", "1"},
                      {"model", json_string(plan.source.name)},
                      {"stack", json_string(layers.front().timed.choice.stack->name)},
                      {"cpu", json_string(machine.cpu)},
                      {"kernel", json_string(name(isa_of(arguments)))},
                      {"products", json_string(name(products_of(arguments)))},
                      {"build_type", json_string(machine.build_type)},
                      {"threads", std::to_string(arguments.threads)},
                      {"clock", json_string(arguments.threads == 1 ? "thread" : "wall")},
                      {"rounds", std::to_string(kAttendRounds)},
                      {"kinds", json_array(all)}}) +
         "\n";
}

}  // namespace

int run_bench_attend(const BenchAttendArguments& arguments) {
  (void)selected_isa();  // what the environment asks for and is not there is not the model's fault
  const Plan plan = plan_of(arguments.model, {});
  const std::vector<MeasuredLayer> layers =
      of_model(plan.source.name, [&] { return measure_all(timed_layers(plan, arguments), arguments); });
  return write_output(arguments.json ? attend_bench_json(layers, plan, arguments)
                                     : attend_bench_text(layers, plan, arguments));
}

}  // namespace posenc::tool
