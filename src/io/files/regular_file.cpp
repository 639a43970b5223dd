// open(2) of regular files alone: the kind is asked before and after opening, O_NONBLOCK keeps pipes from blocking, and
// each failure says why: "cannot open: No such file or directory".
#include "io/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "io/files/read_all.h"

namespace posenc::io {
namespace {

FileError failure(const std::string& file, ErrorKind kind, std::string expected, std::string got) {
  FileError error;
  error.kind = kind;
  error.file = file;
  error.expected = std::move(expected);
  error.got = std::move(got);
  return error;
}

FileError not_opened(const std::string& file, int number) {
  return failure(file, ErrorKind::io_open, "a file that can be opened", errno_text(number));
}

std::string_view type_name(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

FileError not_regular(const std::string& file, mode_t mode) {
  return failure(file, ErrorKind::not_regular_file, "a regular file", std::string(type_name(mode)));
}

}  // namespace

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)), size_(other.size_) {}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<RegularFile> RegularFile::open(const std::filesystem::path& path) {
  const std::string& file = path.native();
  if (file.empty()) return failure(file, ErrorKind::bad_path, "a path", "an empty one");
  if (file.find('\0') != std::string::npos) {
    return failure(file, ErrorKind::bad_path, "a path", "one with a NUL byte");
  }
  // Opening a device can do something (rewind a tape, start a watchdog), so the kind is asked before; and once more
  // behind the open, since the name may mean another file by then.
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return not_opened(file, errno);
  if (!S_ISREG(status.st_mode)) return not_regular(file, status.st_mode);
  // O_NONBLOCK: a pipe without a writer opens at once.
  RegularFile opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), file);
  if (opened.descriptor_ < 0 || ::fstat(opened.descriptor_, &status) != 0) return not_opened(file, errno);
  if (!S_ISREG(status.st_mode)) return not_regular(file, status.st_mode);
  opened.size_ = status.st_size;
  return opened;
}

Result<std::int64_t> RegularFile::size_now() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0) return std::int64_t{status.st_size};
  return failure(name_, ErrorKind::io_read, "to learn its size", errno_text(errno));
}

std::ptrdiff_t RegularFile::read(char* to, std::size_t count) const { return ::read(descriptor_, to, count); }

std::ptrdiff_t RegularFile::read_at(std::uint64_t offset, char* to, std::size_t count) const {
  return ::pread(descriptor_, to, count, static_cast<off_t>(offset));
}

}  // namespace posenc::io
