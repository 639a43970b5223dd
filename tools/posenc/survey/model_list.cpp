#include "survey/model_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::size_t kLongestModel = 4096;  // bytes: PATH_MAX of Linux
constexpr std::size_t kReadBytes = std::size_t{1} << 16;

}  // namespace

ModelList::ModelList(const std::string& name) : name_(name == "-" ? "<stdin>" : name), bytes_(kReadBytes, '\0') {
  if (name == "-") return;
  file_ = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat is {};
  const bool is_directory = file_ >= 0 && ::fstat(file_, &is) == 0 && S_ISDIR(is.st_mode);
  if (is_directory) errno = EISDIR;
  // A pipe that has a writer is read as it comes.
  if (file_ >= 0 && !is_directory && ::fcntl(file_, F_SETFL, 0) == 0) return;
  const int error = errno;
  if (file_ >= 0) ::close(file_);
  throw failure(kFile, formatted("{}: cannot open: {}", printable(name_), std::strerror(error)));
}

ModelList::~ModelList() {
  if (file_ != STDIN_FILENO) ::close(file_);
}

std::optional<char> ModelList::next_byte() {
  while (at_ == end_) {
    const ssize_t got = ::read(file_, bytes_.data(), bytes_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure(kFile, formatted("{}: cannot read: {}", printable(name_), std::strerror(errno)));
    if (got == 0) return std::nullopt;
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
  }
  return bytes_[at_++];
}

std::optional<std::string> ModelList::next() {
  if (is_again_) {
    is_again_ = false;
    return last_;
  }
  last_.reset();
  std::string word;
  for (;;) {
    const std::optional<char> got = next_byte();
    if (got && *got != '\n') {
      word += *got;
      if (word.size() <= kLongestModel) continue;
      throw failure(kMalformed, formatted("{}:{}: expected a model of at most {} bytes on each line", printable(name_),
                                          line_ + 1, kLongestModel));
    }
    ++line_;
    if (!word.empty()) return last_ = std::move(word);
    if (!got) return std::nullopt;
  }
}

}  // namespace posenc::tool
