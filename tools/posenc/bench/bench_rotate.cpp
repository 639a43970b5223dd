// posenc bench rotate: RoPE on queries and keys of a layer's shape, for each dtype and number of tokens, on one thread
// and on all; the report as text and as JSON. docs/cli.md says what its columns are.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/bench_command.h"
#include "bench/bench_words.h"
#include "bench/rotation_speed.h"
#include "inspect/layer_choice.h"
#include "inspect/stage_text.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/progress.h"
#include "line/text.h"
#include "posenc/info.h"
#include "posenc/parallel.h"

namespace posenc::tool {
namespace {

constexpr std::array<DType, 3> kRotatedTypes{DType::f32, DType::f16, DType::bf16};
// A step of decoding, and from what fits the second cache to what fits none. Threads are of use from where there is
// more than a cache of one.
constexpr std::array<std::int64_t, 4> kTokensOfOne{1, 16, 512, 4096};
constexpr std::array<std::int64_t, 2> kTokensOfAll{512, 4096};

// One case. `threads` is 1, or all of them.
struct MeasuredRotate {
  std::int64_t threads = 1;
  std::int64_t tokens = 0;
  DType dtype = DType::f32;
  RotationSpeed speed;
};

struct Shape {
  const Rope& rope;
  std::int64_t heads;
  std::int64_t kv_heads;
};

// An indexer has query heads of its own and one key head. Exit code 4 where the plan does not know how many heads.
Shape shape_of(const LayerChoice& choice) {
  const bool indexer = choice.rotate->role == RotateRole::indexer;
  const Shape shape{rope(*choice.rotate), indexer ? choice.rotate->heads : choice.layer->heads,
                    indexer ? 1 : choice.layer->kv_heads};
  if (shape.heads > 0) return shape;
  throw failure(kMalformed, "the number of heads of this layer is not known, so there is nothing to time");
}

// First all cases of one thread, then, where there are more, those of all threads. f32, f16 and bf16 of each size.
std::vector<MeasuredRotate> measure_all(const Shape& shape, std::int64_t threads) {
  const ThreadPool pool({.threads = threads});
  const std::size_t cases = kRotatedTypes.size() * (kTokensOfOne.size() + (threads > 1 ? kTokensOfAll.size() : 0));
  std::vector<MeasuredRotate> all;
  Progress progress;
  const auto measure = [&](std::int64_t tokens, DType dtype, bool many) {
    progress.show("measuring", std::ssize(all), static_cast<std::int64_t>(cases));
    const SpeedCase one{shape.rope, shape.heads, shape.kv_heads, tokens, dtype};
    all.push_back({many ? threads : 1, tokens, dtype, many ? measure_rotation(one, pool) : measure_rotation(one)});
  };
  for (const std::int64_t tokens : kTokensOfOne) {
    for (const DType dtype : kRotatedTypes) measure(tokens, dtype, false);
  }
  for (const std::int64_t tokens : kTokensOfAll) {
    for (const DType dtype : kRotatedTypes) {
      if (threads > 1) measure(tokens, dtype, true);
    }
  }
  return all;
}

// ---- for people ----

// Read and written, as bandwidths of memory are given.
double gigabytes_per_second(std::int64_t bytes, const bench::Spread& seconds) {
  return 2e-9 * static_cast<double>(bytes) / seconds.median;
}

// "of RMW" is the last column the other way round: RMW's time over the rotation's, in percent.
std::vector<std::string> rotate_row(const MeasuredRotate& m) {
  const RotationSpeed& s = m.speed;
  return {std::to_string(m.tokens),
          std::string(name(m.dtype)),
          number(static_cast<double>(s.bytes) / (1 << 20), 2),
          three_digits(gigabytes_per_second(s.bytes, s.rmw)),
          three_digits(gigabytes_per_second(s.bytes, s.copy)),
          three_digits(gigabytes_per_second(s.bytes, s.rotate)),
          formatted("{:.0f} %", 100 / s.over_rmw.median),
          ratio_text(s.over_rmw)};
}

// The rows with so many threads, under a title.
void add_table(Page& page, const std::vector<MeasuredRotate>& all, std::int64_t threads, std::string_view title) {
  std::vector<std::vector<std::string>> rows{
      {"tokens", "dtype", "MiB", "RMW", "memcpy", "posenc", "of RMW", "time over RMW"}};
  for (const MeasuredRotate& m : all) {
    if (m.threads == threads) rows.push_back(rotate_row(m));
  }
  page.blank();
  page.line(page.paint(Style::bold, title));
  page.table(2, rows);
}

std::string rotate_bench_text(const std::vector<MeasuredRotate>& all, const Shape& shape, const std::string& layer,
                              std::int64_t threads) {
  constexpr std::int64_t kAt = 11;
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, layer));
  page.entry(
      2, "rotated", kAt,
      formatted("q [tokens, {0}, {2}] and k [tokens, {1}, {2}], {3} channels of each head, {4}, in place", shape.heads,
                shape.kv_heads, shape.rope.head_dim, shape.rope.dim, long_pairing(shape.rope.pairing)));
  page.entry(2, "machine", kAt, machine_text(selected_isa()));
  add_table(page, all, 1, "one thread: GB/s, read and written, CPU time");
  if (threads > 1)
    add_table(page, all, threads, formatted("{} threads: GB/s, read and written, wall-clock time", threads));
  page.entry(2, "", 2,
             formatted("RMW: 64-byte integer XOR with a constant, in place. Medians (and the least to the most) of {} "
                       "rounds in which the three alternate on the same warm bytes; a ratio is taken within a round.",
                       kSpeedRounds));
  return page.text();
}

// ---- JSON ----

std::string rotate_measured_json(const MeasuredRotate& m) {
  return json_object({{"threads", std::to_string(m.threads)},
                      {"clock", json_string(m.threads == 1 ? "thread" : "wall")},
                      {"tokens", std::to_string(m.tokens)},
                      {"dtype", json_string(name(m.dtype))},
                      {"bytes", std::to_string(m.speed.bytes)},
                      {"seconds", json_object({{"rotate", spread_json(m.speed.rotate)},
                                               {"rmw", spread_json(m.speed.rmw)},
                                               {"memcpy", spread_json(m.speed.copy)}})},
                      {"time_over_rmw", spread_json(m.speed.over_rmw)},
                      {"time_over_memcpy", spread_json(m.speed.over_copy)}});
}

std::string rotate_bench_json(const std::vector<MeasuredRotate>& all, const Shape& shape, const Plan& plan,
                              const LayerChoice& choice) {
  std::vector<std::string> cases;
  for (const MeasuredRotate& m : all) cases.push_back(rotate_measured_json(m));
  const Info machine = info();
  return json_object({{"schema_version", "1"},
                      {"model", json_string(plan.source.name)},
                      {"stack", json_string(choice.stack->name)},
                      {"layer", std::to_string(choice.layer->index)},
                      {"heads", std::to_string(shape.heads)},
                      {"kv_heads", std::to_string(shape.kv_heads)},
                      {"head_dim", std::to_string(shape.rope.head_dim)},
                      {"rotated_channels", std::to_string(shape.rope.dim)},
                      {"pairing", json_string(name(shape.rope.pairing))},
                      {"cpu", json_string(machine.cpu)},
                      {"kernel", json_string(name(machine.selected))},
                      {"build_type", json_string(machine.build_type)},
                      {"rounds", std::to_string(kSpeedRounds)},
                      {"cases", json_array(cases)}}) +
         "\n";
}

}  // namespace

int run_bench_rotate(const BenchRotateArguments& arguments) {
  const std::int64_t threads = default_threads();
  // As the line above: what the environment asks for and is not there is told before the model is read.
  (void)selected_isa();
  const Plan plan = plan_of(arguments.model, {});
  const LayerWords words{arguments.stack, arguments.layer, arguments.rotation};
  const LayerChoice choice = choose_layer(plan, words, WhenLayersDiffer::take_the_first);
  const Shape shape = shape_of(choice);
  const std::vector<MeasuredRotate> all = of_model(plan.source.name, [&] { return measure_all(shape, threads); });
  if (arguments.json) return write_output(rotate_bench_json(all, shape, plan, choice));
  const std::string layer = formatted("{}, {}", printable(plan.source.name), layer_name(choice, words));
  return write_output(rotate_bench_text(all, shape, layer, threads));
}

}  // namespace posenc::tool
