#include "io/files/resumed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/files/read_all.h"

namespace posenc::io {
namespace {

constexpr std::size_t kCompared = std::size_t{1} << 20;  // bytes at once

}  // namespace

ResumedFile::ResumedFile(const std::filesystem::path& path) : path_(path.native()) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    fail("a file that can be written");
  } else if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    fail("a regular file");
  } else {
    size_ = status.st_size;
  }
}

ResumedFile::~ResumedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ResumedFile::fail(std::string expected) {
  if (error_) return;
  error_.emplace();
  error_->kind = ErrorKind::io_write;
  error_->file = path_;
  error_->offset = at_;
  error_->expected = std::move(expected);
  error_->got = errno_text(errno);
}

bool ResumedFile::is_there(std::span<const std::byte> bytes) {
  if (at_ + static_cast<std::int64_t>(bytes.size()) > size_) return false;
  there_.resize(bytes.size());
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(descriptor_, there_.data() + have, bytes.size() - have,
                                static_cast<off_t>(at_) + static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;  // it is written then, or writing says what is wrong
    have += static_cast<std::size_t>(got);
  }
  return std::memcmp(there_.data(), bytes.data(), bytes.size()) == 0;
}

void ResumedFile::put(std::span<const std::byte> bytes) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data() + have, bytes.size() - have,
                                 static_cast<off_t>(at_) + static_cast<off_t>(have));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail("to write on");
    have += static_cast<std::size_t>(put);
  }
}

void ResumedFile::write(std::span<const std::byte> bytes) {
  while (!error_ && !bytes.empty()) {
    const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kCompared));
    if (is_there(piece)) {
      found_ += std::ssize(piece);
    } else {
      put(piece);
    }
    if (error_) return;
    at_ += std::ssize(piece);
    bytes = bytes.subspan(piece.size());
  }
}

std::optional<FileError> ResumedFile::finish() {
  if (!error_ && size_ > at_ && ::ftruncate(descriptor_, static_cast<off_t>(at_)) != 0) fail("a file that can be cut");
  if (!error_ && ::fsync(descriptor_) != 0) fail("to write on");
  return error_;
}

}  // namespace posenc::io
