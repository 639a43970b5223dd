// posenc attend, from the words of the command line to the report. docs/cli.md shows what it prints.
#include "attend/attend_command.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "attend/attend_call.h"
#include "attend/attend_error.h"
#include "attend/attend_layer.h"
#include "attend/attend_linear.h"
#include "attend/attend_mask.h"
#include "attend/attend_report.h"
#include "attend/attend_tables.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/page.h"
#include "line/progress.h"
#include "line/text.h"
#include "posenc/attend.h"
#include "tensors/expected_port.h"
#include "tensors/head_tensors.h"
#include "tensors/layer_job.h"
#include "tensors/machine_options.h"
#include "tensors/tensor_output.h"

namespace posenc::tool {
namespace {

// ---- before the work ----

// `flag`: "--q", for errors. `wanted`: heads and channels that the layer has for it.
HeadsTensor read_tensor(const AttendArguments& arguments, const std::string& flag, const std::string& text,
                        HeadsWanted wanted, const std::string& layer) {
  wanted.layout = arguments.job.layout;
  wanted.joined_heads = arguments.job.heads;
  wanted.first = flag == "--q";
  return read_heads({flag, text, arguments.job.bf16}, wanted, layer);
}

// Queries and keys that posenc rotate has written would be rotated again.
void refuse_rotated(const HeadsTensor& tensor, const std::string& flag, const std::string& text, bool is_rotated,
                    const LayerPlan& layer) {
  if (is_rotated || layer.rotate.empty() || times_rotated(tensor.source.rotations) <= 0) return;
  refuse({flag, text}, tensor.source,
         formatted("it is already rotated, as posenc.rotate.{} in its metadata says; give {}-rotated",
                   printable(tensor.source.name), flag));
}

// The axes of the layer's coordinates, by name: those of its rotation, of several the one with most axes; rows and
// columns where a bias needs two coordinates and no rotation has them; else t, the order in the sequence.
std::vector<std::string> axes_of(const LayerPlan& layer) {
  std::vector<std::string> axes{"t"};
  for (const Rotate& one : layer.rotate) {
    const std::vector<std::string>& names = rope(one).axes.names;
    if (one.role == RotateRole::main && (names.size() > axes.size() || axes.size() == 1)) axes = names;
  }
  const bool is_grid = std::ranges::any_of(layer.score, [](const ScoreTerm& term) {
    return std::holds_alternative<GridBias>(term) || std::holds_alternative<DecomposedHw>(term);
  });
  if (is_grid && axes.size() < 2) axes = {"h", "w"};
  return axes;
}

// The positions of the last tokens of each sequence, of all its tokens' positions, which fit: queries are the last
// keys.
PositionWord end_of(const PositionWord& keys, std::int64_t all, std::int64_t last) {
  if (last > all) throw UsageError{"--q-positions is needed: there are more queries than keys"};
  PositionWord out = keys;
  if (auto* start = std::get_if<std::int64_t>(&out.values)) {
    *start += all - last;
    return out;
  }
  // A list is runs of `all` tokens, by sequence and by axis: the last of each run are kept.
  const auto cut = [&](const auto& list) {
    std::decay_t<decltype(list)> ends;
    for (auto end = list.begin(); end != list.end();) {
      end += all;
      ends.insert(ends.end(), end - last, end);
    }
    return ends;
  };
  if (all > 0) out.shape.back() = out.shape.back() / all * last;
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&keys.values)) {
    out.values = cut(*whole);
  } else {
    out.values = cut(std::get<std::vector<double>>(keys.values));
  }
  return out;
}

// Positions of keys and queries into the call. Without --q-positions queries are the last keys; without --positions
// too, both stand by their order, and the library counts.
void place(const AttendArguments& arguments, const std::vector<std::string>& axes, AttendCall& call) {
  if (arguments.positions) {
    call.k_positions.emplace(read_positions(*arguments.positions), axes, call.batch(), call.keys(), 0);
  }
  if (arguments.q_positions) {
    call.q_positions.emplace(read_positions(*arguments.q_positions, "--q-positions"), axes, call.batch(),
                             call.queries(), 0);
  } else if (call.k_positions) {
    call.q_positions.emplace(end_of(call.k_positions->word(), call.keys(), call.queries()), axes, call.batch(),
                             call.queries(), 0);
  }
}

// Of keys and queries, for length_of: rules that depend on the length see the whole sequence.
double last_position(const AttendCall& call) {
  const double last_key = call.k_positions ? call.k_positions->most() : static_cast<double>(call.keys() - 1);
  return std::max(last_key, call.q_positions ? call.q_positions->most() : last_key);
}

// ---- the work ----

// A tensor to be written, in the order of axes of the queries.
struct Written {
  std::vector<std::byte> data{};
  TensorView stored{};
  TensorView heads{};  // as attend has it

  Written() = default;  // nothing is
  // `shape`: with an axis for heads. `is_joined`: in the file they share one with the channels.
  Written(DType dtype, const std::vector<std::int64_t>& shape, TensorLayout layout, bool is_joined) {
    const TensorView split = tensor(static_cast<void*>(nullptr), dtype, shape);
    std::vector<std::int64_t> in_file = shape;
    if (is_joined) {
      in_file.pop_back();
      in_file.back() *= shape.back();
    }
    stored = tensor(static_cast<void*>(nullptr), dtype, in_file);
    std::int64_t count = bytes_of(dtype);
    for (const std::int64_t size : shape) count *= size;
    data.resize(static_cast<std::size_t>(count));
    stored.data = data.data();
    heads = in_order(split, layout);
    heads.data = data.data();
  }
  Written(Written&&) = default;  // a copy's views would be of the other's data
};

// As wide as a value, of the queries' dtype.
Written output_for(const HeadsTensor& q, std::int64_t value_dim) {
  std::vector<std::int64_t> shape = shape_of(q.split);
  shape.back() = value_dim;
  return {q.stored.dtype, shape, q.layout, q.split.rank != q.stored.rank};
}

// [tokens, heads] or [batch, heads, tokens], whatever the dtype of the queries in f32.
Written lse_for(const HeadsTensor& q) {
  std::vector<std::int64_t> shape = shape_of(q.split);
  shape.pop_back();
  return {DType::f32, shape, q.layout, false};
}

// Queries of a call, so that progress can be shown between calls. A piece takes a second where keys are very many;
// with smaller ones, tables of distances would be made more often: each call makes its own.
constexpr std::int64_t kPieceQueries = 1024;

struct Outputs {
  TensorView out;
  TensorView lse;  // or nothing
};

// Tiles that were computed and skipped. Without keep_going the call is never cancelled.
AttendWork attend_some(const AttendCall& call, const EveryNth& which, const Outputs& to, const Parallel& parallel,
                       Isa isa) {
  AttendWork work;
  const QueryInputs inputs(call, which);
  const int axis = call.q.rank == 4 ? 2 : 0;
  (void)attend(call.layer, {.out = some_tokens(to.out, axis, which),
                            .q = some_tokens(call.q, axis, which),
                            .k = call.k,
                            .v = call.v,
                            .weights = call.tables.weights,
                            .inputs = inputs.inputs(),
                            .lse = to.lse.empty() ? to.lse : some_tokens(to.lse, axis, which),
                            .products = call.products,
                            .parallel = parallel,
                            .isa = isa,
                            .work = &work});
  return work;
}

// "--v: " where v does not fit the others, or nothing.
std::string flag_of(const Problem& problem) {
  const std::string tensor = problem.field.substr(0, problem.field.find('.'));
  return tensor == "q" || tensor == "k" || tensor == "v" ? formatted("--{}: ", tensor) : "";
}

// Exit code 4, with the flag of the tensor where it is one: tensors that do not fit each other, tables that do not fit
// the layer.
Failure refused(const Error& error, const std::string& layer, const char* flag = "") {
  const std::string tensor = flag_of(error.problem());
  return failure(kMalformed, formatted("{}{}: {}", tensor.empty() ? flag : tensor, layer, error.what()));
}

// All queries, piece by piece.
AttendWork attend_all(const AttendCall& call, const Outputs& to, const LayerJob& job, const std::string& layer,
                      Progress& progress) {
  const AskedThreads threads(job.threads);
  AttendWork work;
  std::int64_t done = 0;
  try {
    do {  // once where there are no queries: what does not fit is said
      const EveryNth piece{.first = done, .count = std::min(kPieceQueries, call.queries() - done)};
      const AttendWork of_piece = attend_some(call, piece, to, threads.parallel(), job.isa);
      work.tiles += of_piece.tiles;
      work.skipped += of_piece.skipped;
      done += piece.count;
      progress.show("attending", done, call.queries());
    } while (done < call.queries());
  } catch (const Error& error) {
    throw refused(error, layer);
  }
  progress.wipe();
  return work;
}

// With --linear, whose refusals of the layer name that flag.
void attend_linearly(const AttendCall& call, FeatureMap map, const TensorView& out, const LayerJob& job,
                     const std::string& layer, Progress& progress) {
  const AskedThreads threads(job.threads);
  progress.show("attending", 0, call.queries());
  try {
    attend_linear_all(call, map, out, threads.parallel(), job.isa);
  } catch (const Error& error) {
    throw refused(error, layer, "--linear: ");
  }
  progress.wipe();
}

std::optional<ExpectedPort> expected_of(const AttendArguments& arguments, const Plan& plan,
                                        const AttendingLayer& choice, const AttendCall& call) {
  if (!arguments.expect) return {};
  if (call.queries() != call.keys()) {
    throw UsageError{formatted("--expect: queries and keys must be the same tokens, but are {} and {}", call.queries(),
                               call.keys())};
  }
  std::vector<NamedTensor> tables;
  for (std::size_t n = 0; n < call.tables.names.size(); ++n) {
    const TensorData& data = call.tables.data[n];
    if (!dtype_of(data.type())) throw UsageError{"--expect: segments of tokens are not compared"};
    tables.push_back({call.tables.names[n], data.view()});
  }
  const ExpectedName out{"out", "out"};
  return check_expected({.plan = plan,
                         .layer = {.stack = choice.stack->name, .layer = choice.layer->index, .length = call.length},
                         .q = call.q,
                         .k = call.k,
                         .v = call.v,
                         .positions = call.k_positions ? &*call.k_positions : nullptr,
                         .tables = tables},
                        *arguments.expect, arguments.job.bf16, {&out, 1});
}

}  // namespace

int run_attend(const AttendArguments& arguments) {
  const LayerJob& job = arguments.job;
  check_standard_input(job.model.name, {{"--q", arguments.q},
                                        {"--k", arguments.k},
                                        {"--v", arguments.v},
                                        {"--weights", arguments.weights.value_or("")},
                                        {"--mask", arguments.mask.value_or("")},
                                        {"--expect", arguments.expect.value_or("")}});
  const Plan plan = begin(job);
  const AttendingLayer choice =
      choose_attending(plan, {job.stack, job.layer, arguments.cross, arguments.linear.has_value()});
  // A copy, whose mask --mask replaces.
  LayerPlan layer = *choice.layer;
  // Linear attention has none, and refuses a layer of theirs.
  const LayerTables tables = arguments.linear ? LayerTables{} : read_tables(arguments.weights, layer, choice.name);
  const HeadsTensor q =
      read_tensor(arguments, "--q", arguments.q, {"query head", layer.heads, layer.head_dim}, choice.name);
  const HeadsTensor k =
      read_tensor(arguments, "--k", arguments.k, {"KV head", layer.kv_heads, layer.head_dim}, choice.name);
  const HeadsTensor v =
      read_tensor(arguments, "--v", arguments.v, {"KV head", layer.kv_heads, layer.value_dim}, choice.name);
  refuse_rotated(q, "--q", arguments.q, arguments.q_rotated, layer);
  refuse_rotated(k, "--k", arguments.k, arguments.k_rotated, layer);
  AttendCall call{.layer = layer,
                  .tables = tables,
                  .q = q.heads,
                  .k = k.heads,
                  .v = v.heads,
                  .q_rotated = arguments.q_rotated,
                  .k_rotated = arguments.k_rotated,
                  .products = products_on(job.isa, arguments.products)};
  // It holds the memory of attn_mask, and so lives as long as the call.
  MaskWord mask;
  if (arguments.mask) {
    mask = read_mask(*arguments.mask, call.queries(), call.keys());
    layer.mask = mask.mask;
    call.attn_mask = mask.view;
  }
  // Positions need the number of tokens, and the length needs positions.
  place(arguments, axes_of(layer), call);
  call.length = length_of(job, layer.rotate, last_position(call));

  Progress progress;
  const Written out = output_for(q, layer.value_dim);
  const Written lse = arguments.lse ? lse_for(q) : Written();
  AttendWork work;
  if (arguments.linear) {
    attend_linearly(call, *arguments.linear, out.heads, job, choice.name, progress);
  } else {
    work = attend_all(call, {out.heads, lse.heads}, job, choice.name, progress);
  }
  // The sample is judged before anything is written.
  std::optional<AttendError> error;
  if (job.check) {
    progress.show("checking", 0, 1);
    error = arguments.linear ? judge_linear(call, *arguments.linear, out.heads) : judge(call, out.heads);
    progress.wipe();
    check_bound(error->over_bound, {error->row, error->head, error->channel}, "");
  }
  const std::optional<ExpectedPort> expected = expected_of(arguments, plan, choice, call);
  std::vector<NamedTensor> named{{"out", out.stored}};
  if (arguments.lse) named.push_back({"lse", lse.stored});
  const std::int64_t bytes = write_tensors(job.out, named, {}, job.force, progress);
  const AttendReport report{.arguments = arguments,
                            .plan = plan,
                            .choice = choice,
                            .call = call,
                            .q = q,
                            .k = k,
                            .v = v,
                            .work = work,
                            .error = error,
                            .bytes_written = bytes,
                            .expected = expected};
  const int written = write_output(job.json ? attend_json(report) : attend_text(report));
  return written == kOk && expected && !expected->check.passes ? kJudged : written;
}

}  // namespace posenc::tool
