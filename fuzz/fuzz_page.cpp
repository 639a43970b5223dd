// What is printed of a plan, whatever a config.json or a plan's JSON says: describe(), and the page of `posenc inspect`
// with its colours and without, of the model and of one layer. It is safe to print, no line is longer than it may be,
// and colours change nothing else.
#include <algorithm>
#include <string>

#include "fuzz/target.h"
#include "inspect/plan_sections.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/plan.h"
#include "posenc/read_plan.h"

namespace posenc::fuzz {
namespace {

// A page of frequencies, a line for some of them: of a plan that claims a million layers it takes as long.
constexpr std::size_t kMostLayers = 64;

template <typename Visit>
void for_lines(std::string_view text, const Visit& visit) {
  must(text.empty() || text.back() == '\n', "a page ends with the end of a line");
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

void must_be_readable(std::string_view text) {
  for_lines(text, [](std::string_view line) {
    must(tool::printable(line) == line, "a line is safe to print");
    must(tool::columns(line) <= tool::kColumns, "a line has at most 80 columns");
    must(line.empty() || line.back() != ' ', "a line does not end with a space");
  });
}

// Without the codes of colours, ESC [ ... m, and the spaces that are painted at the end of a line.
std::string without_colours(std::string_view text) {
  std::string out;
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] == '\x1b') {
      n = std::min(text.find('m', n), text.size());
      continue;
    }
    if (text[n] == '\n') out.erase(out.find_last_not_of(' ') + 1);
    out += text[n];
  }
  return out;
}

std::string page_of(const Plan& plan, bool colour, bool of_a_layer) {
  tool::Page page(colour);
  tool::add_head(page, plan);
  for (const Stack& stack : plan.stacks) {
    if (!of_a_layer) tool::add_stack(page, plan, stack);
    if (of_a_layer && !stack.layers.empty()) tool::add_layer(page, plan, stack, stack.layers.front().index);
  }
  if (!of_a_layer) {
    tool::add_sources(page, plan);
    tool::add_remarks(page, plan);
  }
  return page.text();
}

void must_print(const Plan& plan, bool of_a_layer) {
  std::string page;
  try {
    page = page_of(plan, false, of_a_layer);
  } catch (const Error& error) {  // what the library refuses there is in the model's file (line/model_argument.h)
    return must_be_safe_to_print(error.what());
  }
  must_be_readable(page);
  must(without_colours(page_of(plan, true, of_a_layer)) == page, "colours change no text");
}

void must_be_described(const Plan& plan) {
  for_lines(describe(plan), [](std::string_view line) {
    must(line.size() <= 80, "a description's line has at most 80 columns");
    const auto is_text = [](char c) { return c >= ' ' && c <= '~'; };
    must(std::all_of(line.begin(), line.end(), is_text), "a description is plain ASCII");
  });
}

}  // namespace

void run_one(std::string_view bytes) {
  Result<Plan> plan = plan_from_json(bytes, "plan.json");
  if (!plan) plan = read_plan(std::as_bytes(std::span(bytes.data(), bytes.size())), "config.json");
  if (!plan) return;
  std::size_t layers = 0;
  for (const Stack& stack : plan->stacks) layers += stack.layers.size();
  if (layers > kMostLayers) return;
  must_be_described(*plan);
  must_print(*plan, false);
  must_print(*plan, true);
}

}  // namespace posenc::fuzz
