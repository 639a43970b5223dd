// A page (labels, tables, colours) is composed in memory; then all of it is written, whatever a pipe takes at a time.
#include "line/page.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "line/exit_code.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

ColourChoice chosen_colour = ColourChoice::automatic;

constexpr std::size_t kLongestPrintable = 5 * kLongestWord;  // of a word that is an excerpt, each byte of it escaped

// SGR sequences (ECMA-48): 1 bold, 2 faint, 33 yellow. 0, which paint() ends with, resets all.
std::string_view code(Style style) {
  switch (style) {
    case Style::plain: return "";
    case Style::bold: return "\x1b[1m";
    case Style::dim: return "\x1b[2m";
    case Style::warning: return "\x1b[33m";
  }
  return "";
}

// 0, or the errno that stopped it.
// A pipe may take a part of the text at a time, and a signal may interrupt before any of it.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Rows may have fewer cells than others.
std::vector<std::int64_t> column_widths(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::int64_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], columns(row[c]));
  }
  return widths;
}

}  // namespace

std::string Page::paint(Style style, std::string_view text) const {
  if (!colour_ || style == Style::plain || text.empty()) return std::string(text);
  return formatted("{}{}\x1b[0m", code(style), text);
}

// Without the spaces at its end, which padding leaves.
void Page::line(std::string_view text) {
  const std::size_t last = text.find_last_not_of(' ');
  text_ += text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  text_ += '\n';
}

// Labels have to end before `at`: a longer one would push the first line beyond the page.
void Page::entry(std::int64_t indent, std::string_view label, std::int64_t at, std::string_view text, Style style) {
  const std::string before(static_cast<std::size_t>(indent), ' ');
  std::string lead = before + paint(Style::dim, padded(label, at - indent));
  for (const std::string& part : wrap(excerpt(text, kLongestPrintable), kColumns - at)) {
    line(lead + paint(style, part));
    lead = std::string(static_cast<std::size_t>(at), ' ');
  }
}

void Page::table(std::int64_t indent, const std::vector<std::vector<std::string>>& rows) {
  const std::vector<std::int64_t> widths = column_widths(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string text;
    // Padded before they are painted: codes of colour take no columns.
    for (std::size_t c = 0; c < rows[r].size(); ++c) text += padded(rows[r][c], widths[c]) + "  ";
    text.erase(text.find_last_not_of(' ') + 1);
    line(std::string(static_cast<std::size_t>(indent), ' ') + paint(r == 0 ? Style::dim : Style::plain, text));
  }
}

std::int64_t table_columns(const std::vector<std::vector<std::string>>& rows) {
  // There is no gap behind the last column.
  std::int64_t total = -2;
  for (const std::int64_t width : column_widths(rows)) total += width + 2;
  return total;
}

void choose_colour(ColourChoice choice) { chosen_colour = choice; }

bool output_wants_colour() {
  if (chosen_colour != ColourChoice::automatic) return chosen_colour == ColourChoice::always;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  return ::isatty(STDOUT_FILENO) == 1 && !dumb && (no_colour == nullptr || *no_colour == '\0');
}

int write_output(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return kOk;
  // Seen only where SIGPIPE is ignored: else that signal has ended the process.
  if (error != EPIPE) write_message(formatted("posenc: cannot write to standard output: {}\n", std::strerror(error)));
  return kFile;
}

void write_message(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

}  // namespace posenc::tool
