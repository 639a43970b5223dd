// posenc bench attend: one case. Candidates alternate: multiply-adds on registers, one pass that reads the keys and
// values, attend, attend for the layer without positions, on the same tensors, and attend_backward.
#include "bench/attend_speed.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attend/attend_call.h"
#include "bench/timed_numbers.h"
#include "huge_memory.h"
#include "multiply_add.h"
#include "posenc/attend.h"
#include "posenc/attend_backward.h"
#include "posenc/named_weights.h"
#include "read_memory.h"
#include "tensors/byte_parts.h"

namespace posenc::tool {
namespace {

using bench::Candidate;
using bench::HugeMemory;
using bench::Spread;

constexpr std::int64_t kSteps = 500'000;  // of multiply-adds on each thread: milliseconds
// What is timed at once, so that the clock's third of a microsecond does not count; at most so many calls.
constexpr double kTimedSeconds = 1e-3;
constexpr double kTimedCalls = 256;

volatile std::uint64_t kept;  // what was read, so that it is

// ---- unmasked keys ----

// Keys of a query, by order in the sequence: every mask that is timed is one interval.
struct KeyRange {
  std::int64_t first;
  std::int64_t last;  // seen too
};

// A prefix is of no tokens here, as in a call that does not say.
KeyRange seen_by(const Mask& mask, std::int64_t order, std::int64_t keys) {
  KeyRange out{0, mask.kind == MaskKind::bidirectional ? keys - 1 : order};
  if (mask.window) {
    out.first = std::max(out.first, order - mask.window->past);
    out.last = std::min(out.last, order + mask.window->future);
  }
  if (mask.chunk) {
    const std::int64_t chunk = order / *mask.chunk * *mask.chunk;
    out.first = std::max(out.first, chunk);
    out.last = std::min(out.last, chunk + *mask.chunk - 1);
  }
  return out;
}

struct Seen {
  double pairs = 0.0;
  KeyRange keys;  // that some query attends to
};

// The last query stands with the last key, as in attend where nothing is said.
Seen seen(const AttendSpeedCase& which) {
  Seen out{.keys = {which.keys, 0}};
  for (std::int64_t i = which.keys - which.queries; i < which.keys; ++i) {
    const KeyRange range = seen_by(which.layer.mask, i, which.keys);
    out.pairs += static_cast<double>(range.last - range.first + 1);
    out.keys = {std::min(out.keys.first, range.first), std::max(out.keys.last, range.last)};
  }
  return out;
}

// ---- what is timed ----

// [tokens, heads, channels] on huge pages: with small ones, page walks would be a part of every time. The memory is
// whole blocks, so that read_memory can pass over its end.
struct Heads {
  Heads(std::int64_t tokens, std::int64_t heads, std::int64_t channels, DType of)
      : dtype(of), shape{tokens, heads, channels}, memory(whole_blocks(tokens * heads * channels * bytes_of(of))) {
    fill(memory.data(), whole_blocks(tokens * heads * channels * bytes_of(of)), of);
  }
  TensorView view() const { return tensor(static_cast<void*>(memory.data()), dtype, {shape[0], shape[1], shape[2]}); }
  // The whole blocks in which these tokens lie: no less than attend reads of them.
  std::pair<const char*, std::size_t> bytes(const KeyRange& tokens) const {
    const auto row = static_cast<std::size_t>(shape[1] * shape[2] * bytes_of(dtype));
    const std::size_t from = static_cast<std::size_t>(tokens.first) * row / kBlockBytes * kBlockBytes;
    const auto to = static_cast<std::int64_t>(static_cast<std::size_t>(tokens.last + 1) * row);
    return {memory.data() + from, whole_blocks(to) - from};
  }

  DType dtype;
  std::int64_t shape[3];
  HugeMemory memory;
};

// Rows and columns of a window's tokens, row by row, [2, tokens]; nothing for a layer whose positions are the order.
// The tables of DecomposedHw have 2 side - 1 rows.
std::optional<RowPositions> places(const LayerPlan& layer, std::int64_t tokens) {
  std::int64_t columns = 0;
  for (const ScoreTerm& term : layer.score) {
    if (const auto* grid = std::get_if<GridBias>(&term)) columns = grid->columns;
    if (const auto* grid = std::get_if<DecomposedHw>(&term)) columns = (grid->rows + 1) / 2;
  }
  if (columns == 0) return {};
  std::vector<std::int64_t> all;
  for (std::int64_t n = 0; n < tokens; ++n) all.push_back(n / columns);
  for (std::int64_t n = 0; n < tokens; ++n) all.push_back(n % columns);
  PositionWord word{.file = "the layer's window", .shape = {2, tokens}, .values = std::move(all)};
  return RowPositions(std::move(word), {"h", "w"}, 1, tokens, 0);
}

// Calls that take kTimedSeconds together, by the time of one.
int calls_of(const std::function<void()>& run) {
  run();  // caches, page faults
  const double start = bench::wall_seconds();
  run();
  return static_cast<int>(std::clamp(kTimedSeconds / (bench::wall_seconds() - start), 1.0, kTimedCalls));
}

// The backward pass of a call, and what it writes.
class Backward {
 public:
  // lse and out are those of `forward`, which has run.
  Backward(const AttendSpeedCase& which, const AttendArgs& forward)
      : d_out_(which.queries, which.layer.heads, which.layer.value_dim, which.dtype),
        d_q_(which.queries, which.layer.heads, which.layer.head_dim, which.dtype),
        d_k_(which.keys, which.layer.kv_heads, which.layer.head_dim, which.dtype),
        d_v_(which.keys, which.layer.kv_heads, which.layer.value_dim, which.dtype),
        names_(gradient_names(which.layer, forward.weights)) {
    for (const std::string& name : names_) {
      const std::vector<std::int64_t> shape = gradient_shape(which.layer, forward.weights, name);
      std::int64_t count = 1;
      for (const std::int64_t size : shape) count *= size;
      float* const data = numbers_.emplace_back(static_cast<std::size_t>(count)).data();
      TensorView view = tensor(data, {count});
      if (shape.size() == 2) view = tensor(data, {shape[0], shape[1]});
      if (shape.size() == 3) view = tensor(data, {shape[0], shape[1], shape[2]});
      learned_.push_back({name, view});
    }
    args_ = {.q = forward.q,
             .k = forward.k,
             .v = forward.v,
             .weights = forward.weights,
             .inputs = forward.inputs,
             .out = forward.out,
             .lse = forward.lse,
             .d_out = d_out_.view(),
             .d_q = d_q_.view(),
             .d_k = d_k_.view(),
             .d_v = d_v_.view(),
             .d_weights = learned_,
             .parallel = forward.parallel,
             .isa = forward.isa};
  }
  void run(const LayerPlan& layer) const { (void)attend_backward(layer, args_); }

 private:
  Heads d_out_, d_q_, d_k_, d_v_;
  std::vector<std::string> names_;
  std::vector<std::vector<float>> numbers_;
  std::vector<NamedGradient> learned_;
  AttendBackwardArgs args_;
};

// The ratio of what two candidates do in a second, round by round: (work / time) over (work_over / time_over). ratios()
// gives time_over / time.
Spread rate_ratio(const Candidate& of, double work, const Candidate& over, double work_over) {
  Spread out = bench::ratios(over, of);
  for (double* x : {&out.least, &out.median, &out.most}) *x *= work / work_over;
  return out;
}

}  // namespace

std::optional<std::int64_t> grid_tokens(const LayerPlan& layer) {
  for (const ScoreTerm& term : layer.score) {
    if (const auto* grid = std::get_if<GridBias>(&term)) return grid->rows * grid->columns;
    if (const auto* grid = std::get_if<DecomposedHw>(&term)) return (grid->rows + 1) / 2 * ((grid->rows + 1) / 2);
  }
  return {};
}

LayerPlan without_positions(const LayerPlan& layer) {
  LayerPlan out = layer;
  out.rotate.clear();
  out.regions = {};
  out.score.clear();
  out.value = {};
  out.query_scale = {};
  return out;
}

AttendSpeed measure_attention(const AttendSpeedCase& which, Isa isa, const ThreadPool* pool) {
  const LayerPlan& layer = which.layer;
  const Heads q(which.queries, layer.heads, layer.head_dim, which.dtype);
  const Heads k(which.keys, layer.kv_heads, layer.head_dim, which.dtype);
  const Heads v(which.keys, layer.kv_heads, layer.value_dim, which.dtype);
  const Heads out(which.queries, layer.heads, layer.value_dim, which.dtype);
  // With the norm after RoPE, what attend gets is rotated and normalised already.
  const bool is_rotated = layer.qk_norm && layer.qk_norm->order == QkNorm::Order::after;
  // In a KV cache RoPE has been applied once; in regions each key has more than one position.
  const bool is_cached = which.queries < which.keys && std::holds_alternative<std::monostate>(layer.regions);
  const AttendCall call{.layer = layer,
                        .tables = which.tables,
                        .q = q.view(),
                        .k = k.view(),
                        .v = v.view(),
                        .q_positions = places(layer, which.queries),
                        .k_positions = places(layer, which.keys),
                        .q_rotated = is_rotated,
                        .k_rotated = is_rotated || is_cached};
  const QueryInputs inputs(call, {.count = which.queries});
  const ByteParts parts(pool);
  AttendArgs args{.out = out.view(),
                  .q = call.q,
                  .k = call.k,
                  .v = call.v,
                  .weights = which.tables.weights,
                  .inputs = inputs.inputs(),
                  .products = which.products,
                  .parallel = parts.parallel(),
                  .isa = isa};
  const LayerPlan plain = without_positions(layer);
  // Tables and inputs of score terms would be refused for a layer without them.
  AttendArgs plain_args = args;
  plain_args.weights.score.clear();
  plain_args.weights.value = {};
  plain_args.inputs.row_gate = plain_args.inputs.log_forget = {};
  plain_args.inputs.q_segments = plain_args.inputs.k_segments = {};

  const Seen shown = seen(which);
  // A multiplication and an addition for each channel: head_dim of them for QK^T, value_dim for PV.
  const double operations = 2.0 * shown.pairs * static_cast<double>(layer.heads * (layer.head_dim + layer.value_dim));
  std::vector<float> lse(static_cast<std::size_t>(which.queries * layer.heads));
  if (which.backward) args.lse = tensor(lse.data(), {which.queries, layer.heads});
  const int calls = calls_of([&] { (void)attend(layer, args); });
  const auto read = [&] {
    for (const Heads* x : {&k, &v}) {
      const auto [data, bytes] = x->bytes(shown.keys);
      const char* const first = data;
      parts.run(bytes, [&](std::size_t from, std::size_t count) { kept = bench::read_memory(first + from, count); });
    }
  };
  // Operations of one thread: every thread does the same number, and the first writes it.
  double multiplied = 0.0;
  const auto multiply = [&] {
    const auto blocks = static_cast<std::size_t>(parts.threads()) * kBlockBytes;  // one a thread
    parts.run(blocks, [&](std::size_t from, std::size_t) {
      const double done = bench::multiply_add(isa == Isa::automatic ? selected_isa() : isa, kSteps, which.products);
      if (from == 0) multiplied = done;
    });
  };
  std::vector<Candidate> candidates{
      {.name = "multiply-adds", .run = multiply},
      {.name = "reading", .run = read, .calls = calls, .before = read},
      {.name = "attend", .run = [&] { (void)attend(layer, args); }, .calls = calls},
  };
  if (!(plain == layer)) {
    candidates.push_back({.name = "no positions", .run = [&] { (void)attend(plain, plain_args); }, .calls = calls});
  }
  std::optional<Backward> backward;
  if (which.backward) {
    backward.emplace(which, args);
    const auto run = [&] { backward->run(layer); };
    candidates.push_back({.name = "backward", .run = run, .calls = calls_of(run)});
  }
  bench::take_turns(candidates, kAttendRounds, pool == nullptr ? bench::thread_seconds : bench::wall_seconds);
  const Candidate& attending = candidates[2];
  // Operations of all threads, for the same time.
  const double limit = multiplied * static_cast<double>(parts.threads());
  AttendSpeed result{.operations = operations,
                     .bytes = static_cast<std::int64_t>(k.bytes(shown.keys).second + v.bytes(shown.keys).second),
                     .attend = bench::spread(attending.seconds),
                     .of_multiply_adds = rate_ratio(attending, operations, candidates[0], limit),
                     .of_reading = bench::ratios(candidates[1], attending),
                     .over_plain = {}};
  if (!(plain == layer)) result.over_plain = bench::ratios(attending, candidates[3]);
  if (backward) {
    const Candidate& timed = candidates.back();
    // QK^T again, d_q and d_k: three of head_dim; d_v and d_out v^T: two of value_dim.
    const double of_backward =
        2.0 * shown.pairs * static_cast<double>(layer.heads * (3 * layer.head_dim + 2 * layer.value_dim));
    result.backward = {.operations = of_backward,
                       .backward = bench::spread(timed.seconds),
                       .of_multiply_adds = rate_ratio(timed, of_backward, candidates[0], limit),
                       .over_attend = bench::ratios(timed, attending)};
  }
  return result;
}

}  // namespace posenc::tool
