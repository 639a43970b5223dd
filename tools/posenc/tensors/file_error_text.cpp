// A FileError's message, and of a text file the line that it points at, with a caret; and the exit code for it.
#include "tensors/file_error_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "line/exit_code.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kWindow = 1024;       // bytes looked at on each side of the error
constexpr std::int64_t kColumnsBefore = 40;  // shown before the caret, at most
constexpr std::int64_t kGutter = 8;          // "   12 | "

struct Surroundings {
  std::string before;  // from the start of the line, or of the window
  std::string after;   // to the end of the line, or of the window
};

// The bytes around `offset` of a regular file. It may have changed or gone since it was read: then nothing.
std::string read_window(const std::string& file, std::int64_t from, std::int64_t bytes) {
  std::string window(static_cast<std::size_t>(bytes), '\0');
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return {};
  struct stat status {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t got = regular ? ::pread(descriptor, window.data(), window.size(), from) : 0;
  ::close(descriptor);
  window.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return window;
}

// Where the error points, from the file or from `bytes`. A tab becomes one space, so that the caret's column can be
// counted; what is cut at the window's ends is cut again for the page.
Surroundings around(const FileError& error, std::string_view bytes) {
  const std::int64_t from = std::max<std::int64_t>(0, error.offset - kWindow);
  std::string window;
  if (bytes.empty()) {
    window = read_window(error.file, from, 2 * kWindow);
  } else if (from < static_cast<std::int64_t>(bytes.size())) {
    window = bytes.substr(static_cast<std::size_t>(from), 2 * kWindow);
  }
  std::replace(window.begin(), window.end(), '\t', ' ');
  const std::size_t at = std::min(static_cast<std::size_t>(error.offset - from), window.size());
  Surroundings out{window.substr(0, at), window.substr(at)};
  const std::size_t start = out.before.rfind('\n');
  if (start != std::string::npos) out.before.erase(0, start + 1);
  out.after.resize(std::min(out.after.find_first_of("\r\n"), out.after.size()));
  return out;
}

}  // namespace

std::string file_error_text(const FileError& error, std::string_view bytes) {
  std::string out = formatted("posenc: {}\n", error.message());
  // A format without lines (GGUF, for one) has offsets only: its bytes would say nothing to people.
  if (error.offset < 0 || error.line < 0) return out;
  const Surroundings line = around(error, bytes);
  const bool binary = (line.before + line.after).find('\0') != std::string::npos;
  if (binary || (line.before.empty() && line.after.empty())) return out;
  // Of a long line, its end before the error and its start behind it.
  const std::string before = shorten(printable(line.before), kColumnsBefore, true);
  // Behind the caret the line may go on to the end of the page.
  const std::int64_t left = kColumns - kGutter - columns(before);
  const std::string after = shorten(printable(line.after), left);
  out += formatted("{:>5} | {}{}\n", error.line, before, after);
  return out + formatted("{:>5} | {:>{}}\n", "", "^", columns(before) + 1);
}

int exit_code_of(const FileError& error) {
  switch (error.kind) {
    case ErrorKind::io_open:
    case ErrorKind::io_read:
    case ErrorKind::io_write:
    case ErrorKind::output_exists:
    case ErrorKind::not_regular_file:
    case ErrorKind::bad_path: return kFile;
    // All others are about bytes that were read.
    default: return kMalformed;
  }
}

}  // namespace posenc::tool
