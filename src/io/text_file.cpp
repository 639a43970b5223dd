#include "io/text_file.h"

#include <fcntl.h>
#include <fmt/compile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/read_all.h"

namespace posenc::io {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

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

Result<std::string> read_text_file(const std::filesystem::path& path, std::int64_t max_bytes) {
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
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (descriptor.number() < 0 || ::fstat(descriptor.number(), &status) != 0) return not_opened(file, errno);
  if (!S_ISREG(status.st_mode)) return not_regular(file, status.st_mode);
  if (status.st_size > max_bytes) {
    return failure(file, ErrorKind::limit, fmt::format(FMT_COMPILE("at most {} bytes"), max_bytes),
                   fmt::format(FMT_COMPILE("{}"), status.st_size));
  }
  const auto read_some = [&](char* to, std::size_t count) { return ::read(descriptor.number(), to, count); };
  Result<std::string> text = read_all(read_some, status.st_size, max_bytes);
  if (text.ok()) return text;
  FileError error = text.error();
  error.file = file;
  return error;
}

}  // namespace posenc::io
