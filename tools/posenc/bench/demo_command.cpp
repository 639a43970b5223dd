// posenc demo: the plan as posenc inspect prints it, then four measurements, each printed as soon as it is there (as
// JSON all at the end).
#include "bench/demo_command.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "bench/angle_truth.h"
#include "bench/bench_words.h"
#include "bench/demo_attention.h"
#include "bench/demo_rotation.h"
#include "bench/table_accuracy.h"
#include "bench/table_speed.h"
#include "inspect/plan_sections.h"
#include "line/exit_code.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/read_plan.h"

namespace posenc::tool {
namespace {

constexpr double kPromisedUlp = 1.0;  // rotary_table.h

bool keeps_promise(const Accuracy& accuracy) {
  return std::all_of(accuracy.worst.begin(), accuracy.worst.end(),
                     [](const WorstError& worst) { return worst.ulp <= kPromisedUlp; });
}

// A row for each instruction set of this machine: its worst error, and where.
void add_accuracy(Page& page, const Accuracy& accuracy) {
  page.blank();
  page.line(page.paint(Style::bold, "exact tables: the worst error, measured now"));
  std::vector<std::vector<std::string>> rows{{"kernel", "worst error", "at position", "pair"}};
  for (const WorstError& worst : accuracy.worst) {
    rows.push_back({std::string(name(worst.isa)), formatted("{:.4f} ulp", worst.ulp), std::to_string(worst.position),
                    std::to_string(worst.pair)});
  }
  page.table(2, rows);
  page.entry(2, "", 2,
             formatted("{} of {}: {} each, from -2^31 to 2^31, with those nearest to zeros of cos and sin. Judged by "
                       "integer arithmetic that shares nothing with the library; its own error is below 2^-27 ulp.",
                       count(accuracy.angles, "angle"), count(accuracy.rotations, "rotation"),
                       count(accuracy.positions / std::max<std::int64_t>(accuracy.rotations, 1), "position")));
}

// Nanoseconds for one cos and one sin; libm is the first row, and the unit of the second column.
void add_speed(Page& page, const std::vector<Contestant>& contestants) {
  page.blank();
  page.line(page.paint(Style::bold, "speed: one cos and one sin, CPU time of one thread"));
  std::vector<std::vector<std::string>> rows{{"by", "ns: median (range)", "times libm: median (range)"}};
  for (const Contestant& c : contestants) {
    const bool is_libm = &c == &contestants.front();
    rows.push_back({c.name, spread_text(c.nanoseconds, 1.0, 3), is_libm ? "1" : spread_text(c.over_libm, 1.0, 1)});
  }
  page.table(2, rows);
  page.entry(2, "", 2,
             formatted("{} interleaved rounds of {} positions over the trained length, into warm buffers. libm: its "
                       "sincos in double; the others: "
                       "all of cos_sin_into, its checks and the frequencies too.",
                       kRounds, kTimedPositions));
}

std::string demo_json(const std::string& preset, const Accuracy& accuracy, const std::vector<Contestant>& contestants,
                      const DemoRotation& rotation, const DemoAttention& attention) {
  std::vector<std::string> errors;
  for (const WorstError& worst : accuracy.worst) {
    errors.push_back(json_object({{"kernel", json_string(name(worst.isa))},
                                  {"ulp", json_number(worst.ulp)},
                                  {"position", std::to_string(worst.position)},
                                  {"pair", std::to_string(worst.pair)}}));
  }
  std::vector<std::string> speeds;
  for (const Contestant& c : contestants) {
    speeds.push_back(json_object({{"maker", json_string(c.name)},
                                  {"nanoseconds", spread_json(c.nanoseconds)},
                                  {"times_libm", spread_json(c.over_libm)}}));
  }
  return json_object({{"schema_version", "1"},
                      {"preset", json_string(preset)},
                      {"promised_ulp", json_number(kPromisedUlp)},
                      {"truth_error_ulp", json_number(kTruthErrorInUlp)},
                      {"rotations", std::to_string(accuracy.rotations)},
                      {"positions", std::to_string(accuracy.positions)},
                      {"angles", std::to_string(accuracy.angles)},
                      {"worst_error", json_array(errors)},
                      {"rounds", std::to_string(kRounds)},
                      {"speed", json_array(speeds)},
                      {"rotation", rotation_json(rotation)},
                      {"attention", attention_json(attention)}}) +
         "\n";
}

// Writes what `add` puts on a page: each part of the demo is shown when it is ready.
template <typename Add>
int show(Add add) {
  Page page(output_wants_colour());
  add(page);
  return write_output(page.text());
}

}  // namespace

int run_demo(const DemoArguments& arguments) {
  const std::string& preset = arguments.preset.name;
  if (!is_preset(preset)) throw UsageError{formatted("{}: {}", printable(preset), unknown_preset(preset))};
  const Plan plan = with_settings(preset_plan(preset), arguments.preset);
  // All are judged; the most used one is timed, and rotates in what follows.
  const std::vector<Rope> rotations = rotations_by_use(plan);
  if (rotations.empty()) throw UsageError{formatted("{}: this model has no RoPE", preset)};
  int written = kOk;
  const auto show_part = [&](auto add) {
    if (!arguments.json && written == kOk) written = show(add);
  };
  show_part([&](Page& page) {
    add_head(page, plan);
    for (const Stack& stack : plan.stacks) add_stack(page, plan, stack);
  });
  const Accuracy accuracy = measure_accuracy(rotations, plan.trained_length);
  show_part([&](Page& page) { add_accuracy(page, accuracy); });
  // Over the trained length; of a plan that does not say, at positions 0 to 4095.
  const std::vector<Contestant> contestants =
      measure_speed(rotations.front(), plan.trained_length.value_or(kTimedPositions));
  show_part([&](Page& page) { add_speed(page, contestants); });
  const DemoRotation rotation = rotate_for_demo(plan, rotations.front());
  show_part([&](Page& page) { add_rotation(page, rotation); });
  const DemoAttention attention = attend_for_demo(plan, rotations.front());
  show_part([&](Page& page) { add_attention(page, attention); });
  if (arguments.json) written = write_output(demo_json(preset, accuracy, contestants, rotation, attention));
  // A reader that is gone ends it without a verdict.
  if (written != kOk) return written;
  if (!keeps_promise(accuracy)) {
    write_message(formatted("posenc: an error of cos or sin is above the promised {} ulp\n", number(kPromisedUlp)));
    return kJudged;
  }
  if (!rotation.keeps_bound()) {
    write_message("posenc: an error of RoPE is above its bound\n");
    return kJudged;
  }
  if (!attention.keeps_bound()) {
    write_message("posenc: an error of attention is above its bound\n");
    return kJudged;
  }
  return kOk;
}

}  // namespace posenc::tool
