// posenc rotate: reads q and k, rotates them by a layer of a plan, with --check judges a sample, writes them, reports.
#include "rotate/rotate_command.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/page.h"
#include "line/progress.h"
#include "line/text.h"
#include "rotate/rotate_report.h"
#include "rotate/rotated_rows.h"
#include "tensors/expected_port.h"
#include "tensors/layer_job.h"
#include "tensors/machine_options.h"
#include "tensors/tensor_output.h"

namespace posenc::tool {
namespace {

// Tokens that --check judges at most, and values of theirs, q and k together: seconds of the reference. A token of the
// largest models has 49152 values, so that 170 of those are judged.
constexpr std::int64_t kCheckedRows = 1024;
constexpr std::int64_t kCheckedValues = std::int64_t{1} << 23;

// ---- before the work ----

// `layer`: its name, for the message. xPos scales queries and keys differently, which one rotation of both cannot do.
const Rope& plain_rope(const LayerChoice& choice, const std::string& layer) {
  if (std::holds_alternative<XPos>(choice.rotate->scheme)) {
    throw failure(
        kMalformed,
        formatted("{}: unsupported xPos, which also scales queries and keys; rotate applies RoPE alone", layer));
  }
  return rope(*choice.rotate);
}

// Where the tensor's file says that it has been rotated in this direction.
void refuse_second_rotation(const TensorWord& word, const TensorArgument& tensor, Direction direction) {
  const bool back = direction == Direction::inverse;
  const std::int64_t times = times_rotated(tensor.rotations);
  if (back ? times >= 0 || tensor.rotations.empty() : times <= 0) return;
  refuse(word, tensor,
         formatted("it is already rotated{}, as posenc.rotate.{} in its metadata says; {}, --again rotates it again",
                   back ? " back" : "", printable(tensor.name),
                   back ? "without --inverse it is rotated forward" : "--inverse rotates it back"));
}

// Heads and channels have to be those of the layer, or of the indexer where its rotation was asked for; how many heads
// an indexer's keys have is not in the plan. Keys of a layer that uses another's KV cache are refused: it makes none.
RotatedTensor read_tensor(const RotateArguments& arguments, const char* name, const LayerChoice& choice,
                          const std::string& layer) {
  const bool queries = name == std::string_view("q");
  const bool main = choice.rotate->role != RotateRole::indexer;
  if (!queries && choice.layer->kv_from) {
    throw failure(kMalformed, formatted("--k: {} has no keys of its own; its KV cache is that of layer {}", layer,
                                        *choice.layer->kv_from));
  }
  const HeadsWanted wanted{
      .kind = queries ? "query head" : "KV head",
      .heads = queries ? (main ? choice.layer->heads : choice.rotate->heads) : (main ? choice.layer->kv_heads : 0),
      .channels = rope(*choice.rotate).head_dim,
      .layout = arguments.job.layout,
      .joined_heads = arguments.job.heads,
      .first = queries || !arguments.q};
  const TensorWord word{formatted("--{}", name), *(queries ? arguments.q : arguments.k), arguments.job.bf16};
  RotatedTensor out{name, read_heads(word, wanted, layer)};
  if (!arguments.again) refuse_second_rotation(word, out.tensor.source, arguments.direction);
  return out;
}

// In the order of the report. Both have to have the same batch and tokens, since positions are shared.
std::vector<RotatedTensor> read_tensors(const RotateArguments& arguments, const LayerChoice& choice,
                                        const std::string& layer) {
  std::vector<RotatedTensor> tensors;
  if (arguments.q) tensors.push_back(read_tensor(arguments, "q", choice, layer));
  if (arguments.k) tensors.push_back(read_tensor(arguments, "k", choice, layer));
  if (tensors.size() == 2) check_together(tensors[0].tensor, tensors[1].tensor);
  return tensors;
}

// ---- the work ----

// Rows of each tensor as they were, where they are to be judged.
std::vector<RowSample> samples_of(const RotateArguments& arguments, const std::vector<RotatedTensor>& tensors,
                                  const RotatedTensors& views) {
  std::vector<RowSample> samples;
  if (!arguments.job.check) return samples;
  const std::int64_t values = std::max<std::int64_t>(1, row_values(views.q) + row_values(views.k));
  const std::int64_t most = std::clamp<std::int64_t>(kCheckedValues / values, 1, kCheckedRows);
  const std::vector<Row> rows = spread_rows(batch_of(views), tokens_of(views), most);
  for (const RotatedTensor& t : tensors) samples.emplace_back(t.tensor.heads, rows);
  return samples;
}

// Before the rotation, which is in place.
std::optional<ExpectedPort> expected_of(const RotateArguments& arguments, const Plan& plan, const LayerChoice& choice,
                                        const RotatedTensors& views, const RotationAsked& rotation,
                                        const RowPositions& positions) {
  if (!arguments.expect) return {};
  const auto mains = std::ranges::count(choice.layer->rotate, RotateRole::main, &Rotate::role);
  if (choice.rotate->role != RotateRole::main || mains != 1) {
    throw UsageError{"--expect: it compares the only rotation of a layer, and this one is of several"};
  }
  std::vector<ExpectedName> names;
  if (arguments.q) names.push_back({"q_rotated", "q"});
  if (arguments.k) names.push_back({"k_rotated", "k"});
  return check_expected({.plan = plan,
                         .layer = {.stack = choice.stack->name,
                                   .layer = choice.layer->index,
                                   .length = rotation.length,
                                   .cross = choice.layer->kind == LayerKind::cross_attention},
                         .q = views.q,
                         .k = views.k,
                         .positions = &positions,
                         .offset = choice.rotate->offset},
                        *arguments.expect, arguments.job.bf16, names);
}

}  // namespace

int run_rotate(const RotateArguments& arguments) {
  const LayerJob& job = arguments.job;
  check_standard_input(job.model.name, {{"--q", arguments.q.value_or("")},
                                        {"--k", arguments.k.value_or("")},
                                        {"--expect", arguments.expect.value_or("")}});
  const Plan plan = begin(job);
  const LayerWords words{job.stack, job.layer, arguments.rotation};
  const LayerChoice choice = choose_layer(plan, words, WhenLayersDiffer::ask);
  const std::string layer = layer_name(choice, words);
  const Rope& rope = plain_rope(choice, layer);

  Progress progress;
  std::vector<RotatedTensor> tensors = read_tensors(arguments, choice, layer);
  RotatedTensors views;
  for (const RotatedTensor& t : tensors) (t.name == "q" ? views.q : views.k) = t.tensor.heads;
  const RowPositions positions(read_positions(arguments.positions), rope.axes.names, batch_of(views), tokens_of(views),
                               choice.rotate->offset);
  // The length is known only now: without --length it follows from the positions.
  const RotationAsked rotation{.rope = rope,
                               .direction = arguments.direction,
                               .length = length_of(job, {choice.rotate, 1}, positions.most()),
                               .angles = arguments.angles};
  const std::optional<ExpectedPort> expected = expected_of(arguments, plan, choice, views, rotation, positions);
  // Copied before the rotation, which is in place.
  const std::vector<RowSample> samples = samples_of(arguments, tensors, views);
  try {
    const AskedThreads threads(job.threads);
    rotate_rows(views, rotation, positions,
                [&](std::int64_t rows, std::int64_t all) { progress.show("rotating rows", rows, all); },
                {.parallel = threads.parallel(), .isa = job.isa});
  } catch (const Error& error) {  // a rule or positions whose angles are beyond all tables
    throw failure(kMalformed, formatted("{}: {}", layer, error.what()));
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    progress.show("checking " + tensors[i].name, static_cast<std::int64_t>(i), std::ssize(samples));
    tensors[i].error = samples[i].judge(tensors[i].tensor.heads, rotation, positions);
  }
  progress.wipe();
  for (const RotatedTensor& t : tensors) {
    if (t.error) check_bound(t.error->over_bound, {t.error->row, t.error->head, t.error->channel}, t.name + ": ");
  }

  std::vector<NamedTensor> named;
  for (const RotatedTensor& t : tensors) named.push_back({t.name, t.tensor.stored});
  RotateReport report{.arguments = arguments,
                      .plan = plan,
                      .choice = choice,
                      .rotation = rotation,
                      .positions = positions,
                      .tensors = tensors,
                      .rows = batch_of(views) * tokens_of(views),
                      .checked_rows = samples.empty() ? 0 : std::ssize(samples.front().rows()),
                      .expected = expected};
  report.bytes_written = write_tensors(job.out, named, rotate_metadata(report), job.force, progress);
  const int written = write_output(job.json ? rotate_json(report) : rotate_text(report));
  return written == kOk && expected && !expected->check.passes ? kJudged : written;
}

}  // namespace posenc::tool
