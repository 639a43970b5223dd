// The library compares and words the result (src/plan/compare); here are the two plans, the exit code, and the bold
// verdict.
#include "inspect/compare_command.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "line/exit_code.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "posenc/compare.h"

namespace posenc::tool {
namespace {

constexpr std::string_view kToolName = "posenc: ";  // every message starts with it

// The message again, saying which of the two has no plan: "posenc: B: config.json: ...".
void write_failure(std::string_view side, std::string_view message) {
  message.remove_prefix(kToolName.size());
  write_message(std::string(kToolName) + std::string(side) + ": " + std::string(message));
}

// The text with its first line, the verdict, in bold.
std::string comparison_text(const Comparison& comparison) {
  const std::string text = describe(comparison);
  const std::size_t first = text.find('\n');
  const Page page(output_wants_colour());
  return page.paint(Style::bold, text.substr(0, first)) + text.substr(first);
}

// llama.cpp rotates neighbours in the Llama line, and its converter puts the rows of q and k in the order for that:
// then half in a config and interleaved in the GGUF are one model, each with its own weights. Between two configs, or
// two GGUF files, the same difference is an error.
bool is_row_order_of_gguf(const Comparison& comparison) {
  const bool a_is_gguf = comparison.a.kind == SourceKind::gguf;
  const bool b_is_gguf = comparison.b.kind == SourceKind::gguf;
  if (comparison.verdict != Verdict::same_but_pairing || a_is_gguf == b_is_gguf) return false;
  return std::ranges::all_of(comparison.pairings, [&](const PairingChange& change) {
    return (a_is_gguf ? change.a : change.b) == Pairing::interleaved;
  });
}

int exit_code_of_comparison(const Comparison& comparison, bool ignores_row_order) {
  if (comparison.verdict == Verdict::same) return kOk;
  if (!is_row_order_of_gguf(comparison)) return kJudged;
  return ignores_row_order ? kOk : kRowOrder;
}

}  // namespace

int run_compare(const CompareArguments& arguments) {
  const std::variant<Plan, NoPlan> a = load_plan(arguments.a, arguments.length);
  const std::variant<Plan, NoPlan> b = load_plan(arguments.b, arguments.length);
  // Both are read before either may end it, so that one run tells of both. The exit code is then that of A.
  const auto* no_a = std::get_if<NoPlan>(&a);
  const auto* no_b = std::get_if<NoPlan>(&b);
  if (no_a != nullptr) write_failure("A", no_a->message);
  if (no_b != nullptr) write_failure("B", no_b->message);
  if (no_a != nullptr) return no_a->exit_code;
  if (no_b != nullptr) return no_b->exit_code;
  CompareOptions options;
  if (arguments.tolerance) options.tolerance = *arguments.tolerance;
  const auto& plan_a = std::get<Plan>(a);
  const auto& plan_b = std::get<Plan>(b);
  const Comparison comparison =
      of_model(plan_a.source.name + ", " + plan_b.source.name, [&] { return compare(plan_a, plan_b, options); });
  const int written = write_output(arguments.json ? to_json(comparison) + "\n" : comparison_text(comparison));
  if (written != kOk) return written;
  return exit_code_of_comparison(comparison, arguments.ignore_row_order);
}

}  // namespace posenc::tool
