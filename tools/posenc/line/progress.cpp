// The progress line on standard error, after a second of work; only on a terminal that is not dumb.
#include "line/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "line/formatted.h"
#include "line/page.h"

namespace posenc::tool {
namespace {

constexpr double kPatience = 1.0;  // seconds; what is done by then needs no progress
// Seconds between two lines: ten a second can be followed, and cost little.
constexpr double kApart = 0.1;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressPlace standard_error() {
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  return {.terminal = ::isatty(STDERR_FILENO) == 1 && !dumb, .seconds = seconds_now, .write = write_message};
}

// As if a line had been shown kPatience - kApart after the start, so that show() writes first when kPatience has
// passed. Without a terminal the clock is not asked.
Progress::Progress(ProgressPlace place)
    : place_(std::move(place)), shown_at_(place_.terminal ? place_.seconds() + kPatience - kApart : 0.0) {}

void Progress::show(std::string_view what, std::int64_t done, std::int64_t all) {
  if (!place_.terminal) return;
  const double now = place_.seconds();
  if (now - shown_at_ < kApart) return;
  shown_at_ = now;
  const double part = all > 0 ? static_cast<double>(done) / static_cast<double>(all) : 1.0;
  const std::string line = formatted("{} {:3.0f} %", what, 100 * part);
  wipe();
  place_.write(line);
  // Bytes: of no text fewer than its columns, so that wipe() covers all of it.
  columns_ = line.size();
}

// Spaces instead of a code, which not every terminal knows.
void Progress::wipe() {
  if (columns_ == 0) return;
  place_.write("\r" + std::string(columns_, ' ') + "\r");
  columns_ = 0;
}

}  // namespace posenc::tool
