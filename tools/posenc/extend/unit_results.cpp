#include "extend/unit_results.h"

#include <charconv>
#include <filesystem>
#include <utility>

#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/text.h"
#include "line/whole_input.h"

namespace posenc::tool {
namespace {

// {"unit": "yarn, loss, 0", "numbers": [1.5, 2]}
constexpr std::string_view kBegin = R"({"unit": ")";
constexpr std::string_view kMiddle = R"(", "numbers": [)";
constexpr std::string_view kEnd = "]}";
constexpr std::size_t kMostResults = std::size_t{1} << 28;  // bytes; each unit takes some tens

std::optional<std::vector<double>> numbers_of(std::string_view text) {
  std::vector<double> out;
  while (!text.empty()) {
    double number = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    out.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(", ")) {
      text.remove_prefix(2);
    } else if (!text.empty()) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

UnitResults::UnitResults(const std::optional<std::string>& path, const std::string& of) : path_(path.value_or("")) {
  if (!path) return;
  std::string text;
  if (std::filesystem::exists(path_)) {
    if (!std::filesystem::is_regular_file(path_)) {
      throw failure(kFile, formatted("--results: {}: expected a regular file", printable(path_)));
    }
    text = whole_file(path_, kMostResults);
    const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is none
    text.resize(whole);
    read(text, of);
    std::error_code failed;
    std::filesystem::resize_file(path_, whole, failed);
    if (failed) throw failure(kFile, printable(path_) + ": cannot be written to");
  }
  file_.open(path_, std::ios::binary | std::ios::app);
  if (text.empty()) write(of);
}

void UnitResults::read(const std::string& text, const std::string& of) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string_view line = std::string_view(text).substr(at, text.find('\n', at) - at);
    if (number++ == 0) {
      if (line == of) continue;
      throw UsageError{printable(formatted("--results: {} is of another call: it begins with {}, and this one is {}",
                                           path_, excerpt(line), of))};
    }
    const std::size_t middle = line.find(kMiddle);
    const bool is_one = line.starts_with(kBegin) && line.ends_with(kEnd) && middle != std::string_view::npos;
    const std::size_t from = is_one ? middle + kMiddle.size() : 0;
    auto numbers = is_one ? numbers_of(line.substr(from, line.size() - kEnd.size() - from)) : std::nullopt;
    if (!numbers) throw UsageError{printable(formatted("--results: {}: line {} is no result", path_, number))};
    found_.insert_or_assign(std::string(line.substr(kBegin.size(), middle - kBegin.size())), *std::move(numbers));
  }
}

const std::vector<double>* UnitResults::find(std::string_view unit) const {
  const auto found = found_.find(unit);
  return found == found_.end() ? nullptr : &found->second;
}

void UnitResults::add(const std::string& unit, std::vector<double> numbers) {
  if (!path_.empty()) {
    std::string line(kBegin);
    line.append(unit).append(kMiddle);
    for (std::size_t n = 0; n < numbers.size(); ++n) line.append(n == 0 ? "" : ", ").append(json_number(numbers[n]));
    write(line.append(kEnd));
  }
  found_.insert_or_assign(unit, std::move(numbers));
}

void UnitResults::write(const std::string& line) {
  file_ << line << '\n' << std::flush;
  if (!file_) throw failure(kFile, printable(path_) + ": cannot be written to");
}

}  // namespace posenc::tool
