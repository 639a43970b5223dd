#include "survey/survey_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"

namespace posenc::tool {

std::string start_of_line(std::string_view model) { return "{\"model\": " + json_string(model) + ", "; }

void SurveyOutput::fail(std::string_view what) const {
  throw failure(kFile, formatted("{}: {}: {}", printable(name_), what, std::strerror(errno)));
}

SurveyOutput::SurveyOutput(const std::optional<std::string>& name, bool resume, bool force) {
  if (!name) return;
  name_ = *name;
  const int if_there = resume || force ? 0 : O_EXCL;
  file_ = ::open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | if_there, 0666);
  if (file_ < 0 && errno == EEXIST) {
    throw failure(kFile,
                  formatted("{}: file exists (--resume goes on with it, --force replaces it)", printable(name_)));
  }
  if (file_ < 0) fail("cannot open");
  struct stat is {};
  struct flock whole {};
  whole.l_type = F_WRLCK;  // and all of it, from 0 on
  const bool is_file = ::fstat(file_, &is) == 0 && S_ISREG(is.st_mode);
  if (!is_file || ::fcntl(file_, F_SETLK, &whole) != 0) {
    ::close(file_);
    throw failure(kFile, formatted("{}: {}", printable(name_),
                                   is_file ? "another process is writing it" : "expected a regular file"));
  }
  if (force && ::ftruncate(file_, 0) != 0) {
    const int error = errno;
    ::close(file_);
    errno = error;
    fail("cannot write");
  }
}

SurveyOutput::~SurveyOutput() {
  if (file_ >= 0) ::close(file_);
}

std::int64_t SurveyOutput::pass_over(ModelList& list) {
  if (file_ < 0) return 0;
  std::array<char, 1 << 16> bytes{};
  std::string seen;    // of the line, as far as its start is known
  std::string wanted;  // empty: between two lines
  std::int64_t lines = 0;
  off_t whole = 0;  // bytes of whole lines
  off_t at = 0;
  for (;;) {
    const ssize_t got = ::read(file_, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read");
    if (got == 0) break;
    for (std::string_view left(bytes.data(), static_cast<std::size_t>(got)); !left.empty();) {
      if (wanted.empty()) {
        const std::optional<std::string> model = list.next();
        if (!model) {
          throw failure(kMalformed,
                        formatted("{}:{}: the list has only {}", printable(name_), lines + 1, count(lines, "model")));
        }
        wanted = start_of_line(*model);
        seen.clear();
      }
      const std::size_t end = left.find('\n');
      const std::string_view part = left.substr(0, end);
      seen += part.substr(0, wanted.size() - seen.size());
      at += static_cast<off_t>(part.size());
      left.remove_prefix(part.size());
      if (end == std::string_view::npos) continue;
      if (seen != wanted) {
        throw failure(kMalformed, formatted("{}:{}: expected the model of the list, a line that starts with {}",
                                            printable(name_), lines + 1, excerpt(wanted)));
      }
      left.remove_prefix(1);
      whole = ++at;
      ++lines;
      wanted.clear();
    }
  }
  if (!wanted.empty()) list.again();
  if (::ftruncate(file_, whole) != 0 || ::lseek(file_, whole, SEEK_SET) != whole) fail("cannot write");
  return lines;
}

int SurveyOutput::write(std::string_view line) const {
  if (file_ < 0) return write_output(line);
  while (!line.empty()) {
    const ssize_t put = ::write(file_, line.data(), line.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot write");
    line.remove_prefix(static_cast<std::size_t>(put));
  }
  return kOk;
}

}  // namespace posenc::tool
