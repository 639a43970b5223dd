#include "emit/text.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/formatted.h"

namespace posenc::code {

void Lines::add(std::string_view text, int indent) {
  while (true) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) text_.append(static_cast<std::size_t>(indent), ' ').append(line);
    text_ += '\n';
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

void Lines::comment(std::string_view mark, std::string_view text, int indent) {
  const std::size_t columns = kColumns - mark.size() - static_cast<std::size_t>(indent);
  for (const std::string& line : wrapped(text, columns)) add(std::string(mark) + line, indent);
}

void add_noted(Lines& out, const std::string& line, std::string_view behind, std::string_view above,
               const std::string& note) {
  if (note.empty() || line.size() + behind.size() + note.size() <= kColumns) {
    out.add(note.empty() ? line : line + std::string(behind) + note);
    return;
  }
  out.comment(above, note);
  out.add(line);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view paragraph = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), paragraph.size() + 1));
    std::string line;
    while (!paragraph.empty()) {
      std::string_view word = paragraph.substr(0, paragraph.find(' '));
      // "arXiv 2104.09864" stays in one line.
      if (word == "arXiv") word = paragraph.substr(0, paragraph.find(' ', word.size() + 1));
      paragraph.remove_prefix(std::min(paragraph.size(), word.size() + 1));
      if (!line.empty() && line.size() + 1 + word.size() > columns) lines.push_back(std::exchange(line, {}));
      line += (line.empty() ? "" : " ") + std::string(word);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> broken(std::string_view expression, std::size_t columns) {
  constexpr std::string_view kOperators = "+-*/%<>=&|?:";
  std::vector<std::string> lines;
  while (expression.size() > columns) {
    std::size_t at = std::string_view::npos;
    for (std::size_t i = 1; i + 1 < expression.size() && i <= columns; ++i) {
      const bool is_place = expression[i] == ' ' &&
                            (expression[i - 1] == ',' || kOperators.find(expression[i + 1]) != std::string_view::npos);
      if (is_place) at = i;
    }
    if (at == std::string_view::npos) break;
    lines.emplace_back(expression.substr(0, at));
    expression.remove_prefix(at + 1);
  }
  lines.emplace_back(expression);
  return lines;
}

namespace {

std::string with_point(std::string text) { return text.find_first_of(".e") == std::string::npos ? text + ".0" : text; }

}  // namespace

std::string real_text(double value) { return with_point(formatted("{}", value)); }

std::string real_text(float value) { return with_point(formatted("{}", value)); }

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& letter : out) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return out;
}

std::string upper_camel(std::string_view name) {
  std::string out;
  bool starts = true;
  for (const char letter : name) {
    if (letter == '_') {
      starts = true;
      continue;
    }
    out += starts ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
    starts = false;
  }
  return out;
}

std::string sentence(std::string_view text) {
  std::string out(text);
  if (out.empty()) return out;
  out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  if (out.back() != '.') out += '.';
  return out;
}

std::string list_text(const std::vector<std::string>& elements, std::string_view open, std::string_view close,
                      std::size_t column, int indent) {
  const std::string all = joined(elements, ", ");
  if (column + open.size() + all.size() + close.size() <= kColumns) {
    return std::string(open) + all + std::string(close);
  }
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out(open);
  for (const std::string& line : wrapped(all + ",", kColumns - margin.size())) out += "\n" + margin + line;
  return out + "\n" + std::string(close);
}

}  // namespace posenc::code
