// What the playground calls: from a model's file to its plan or to a report, with --set's words.
//
// The page gives memory that it got from `grow`, and reads the answer at `answer`. One call at a time.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/override_plan.h"
#include "posenc/read_plan.h"
#include "posenc/report.h"

namespace {

std::string& text() {
  static std::string answer;
  return answer;
}

// Lines as --set takes them.
std::vector<std::string> lines(std::string_view all) {
  std::vector<std::string> out;
  while (!all.empty()) {
    const std::string_view line = all.substr(0, all.find('\n'));
    if (!line.empty()) out.emplace_back(line);
    all.remove_prefix(std::min(line.size() + 1, all.size()));
  }
  return out;
}

enum Status : int { ok = 0, refused = 1 };

int refuse(std::string why) {
  text() = std::move(why);
  return refused;
}

}  // namespace

#define POSENC_PAGE(name) __attribute__((export_name(#name)))

extern "C" {

POSENC_PAGE(grow) std::byte* posenc_page_grow(std::size_t size) { return static_cast<std::byte*>(std::malloc(size)); }
POSENC_PAGE(shrink) void posenc_page_shrink(std::byte* memory) { std::free(memory); }

POSENC_PAGE(answer) const char* posenc_page_answer() { return text().data(); }
POSENC_PAGE(answer_size) std::size_t posenc_page_answer_size() { return text().size(); }

// The names of the presets, a line each.
POSENC_PAGE(presets) int posenc_page_presets() {
  text().clear();
  for (const posenc::Preset& preset : posenc::presets()) (text() += preset.name) += '\n';
  return ok;
}

// The config.json of a preset.
POSENC_PAGE(preset) int posenc_page_preset(const char* name, std::size_t size) {
  for (const posenc::Preset& preset : posenc::presets()) {
    if (preset.name != std::string_view(name, size)) continue;
    text() = preset.config_json;
    return ok;
  }
  return refuse("no preset has that name");
}

// A file's bytes (of a GGUF file as many as the header needs), its name, --set's words a line each, and the length in
// tokens or 0: the JSON of its report, or with `as_plan` of its plan. With the bytes of an original, what that says
// comes first, and the file is what it is held against. Status 1: the answer says what is wrong.
POSENC_PAGE(read)
int posenc_page_read(const std::byte* file, std::size_t file_size, const char* name, std::size_t name_size,
                     const char* set, std::size_t set_size, double length, int as_plan, const std::byte* original,
                     std::size_t original_size) {
  posenc::ReadOptions options;
  if (length >= 1.0) options.length = static_cast<std::int64_t>(length);
  auto plan = posenc::read_plan(std::span(file, file_size), std::string_view(name, name_size), options);
  if (!plan) return refuse(plan.error().message());
  const std::vector<std::string> words = lines(std::string_view(set, set_size));
  const posenc::Plan shown = words.empty() ? *plan : posenc::override_plan(*plan, words);
  if (as_plan != 0) {
    text() = to_json(shown) + "\n";
  } else if (original_size == 0) {
    text() = posenc::report_json({&shown, 1}, {.length = options.length});
  } else {
    const auto first = posenc::read_plan(std::span(original, original_size), std::string(name, name_size), options);
    if (!first) return refuse(first.error().message());
    text() = posenc::report_json({&*first, 1}, {.length = options.length, .against = &shown});
  }
  return ok;
}

}  // extern "C"
