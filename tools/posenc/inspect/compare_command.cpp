#include "inspect/compare_command.h"

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

}  // namespace

int run_compare(const CompareArguments& arguments) {
  const std::variant<Plan, NoPlan> a = load_plan(arguments.a, arguments.length);
  const std::variant<Plan, NoPlan> b = load_plan(arguments.b, arguments.length);
  const auto* no_a = std::get_if<NoPlan>(&a);
  const auto* no_b = std::get_if<NoPlan>(&b);
  if (no_a != nullptr) write_failure("A", no_a->message);
  if (no_b != nullptr) write_failure("B", no_b->message);
  if (no_a != nullptr) return no_a->exit_code;
  if (no_b != nullptr) return no_b->exit_code;
  CompareOptions options;
  if (arguments.tolerance) options.tolerance = *arguments.tolerance;
  const Comparison comparison = compare(std::get<Plan>(a), std::get<Plan>(b), options);
  const int written = write_output(arguments.json ? to_json(comparison) + "\n" : comparison_text(comparison));
  if (written != kOk) return written;
  return comparison.verdict == Verdict::same ? kOk : kJudged;
}

}  // namespace posenc::tool
