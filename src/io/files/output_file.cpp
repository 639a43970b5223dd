// Atomic replacement of a file: a temporary file in the same folder, fsync(2), then link(2) or rename(2), then fsync of
// the folder, so that a crash leaves the old file or the new one and never half of either.
#include "io/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/formatted.h"
#include "io/files/read_all.h"

namespace posenc::io {
namespace {

constexpr int kAttempts = 100;                           // at a name that nobody uses
constexpr std::int64_t kPiece = std::int64_t{16} << 20;  // bytes: hundredths of a second, on most disks

// Makes the names of this process's temporary files differ, whichever thread writes them. A name that is taken all the
// same (left by a killed process, or another machine's on a shared disk) is passed over.
std::atomic<std::uint32_t> last_number = 0;

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path, const WriteOptions& options)
    : path_(path.native()), folder_(path.has_parent_path() ? path.parent_path().native() : "."), options_(options) {
  check_target();
  if (!error_) open_temporary();
}

// temporary_ is empty once rename(2) has moved it. After link(2) the file has two names, and the temporary one goes
// here.
OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(ErrorKind kind, std::string expected, std::string got) {
  if (error_) return;
  error_.emplace();
  error_->kind = kind;
  error_->file = path_;
  error_->expected = std::move(expected);
  error_->got = std::move(got);
}

// A link is refused rather than followed or replaced: either would surprise one who meant the other.
void OutputFile::check_target() {
  if (path_.empty()) return fail(ErrorKind::bad_path, "a path", "an empty one");
  if (path_.find('\0') != std::string::npos) return fail(ErrorKind::bad_path, "a path", "one with a NUL byte");
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) {
    if (errno != ENOENT) fail(ErrorKind::io_write, "a file that can be written", errno_text(errno));
    return;
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::output_exists, "a name that is free, or a regular file's",
                S_ISLNK(status.st_mode) ? "a symbolic link" : "something else than a file");
  }
  if (!options_.replace) fail(ErrorKind::output_exists, "a name that is free", "a file");
}

// O_EXCL follows no link and opens nothing that stood there.
void OutputFile::open_temporary() {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = formatted("{}/.posenc-{}-{}.tmp", folder_, ::getpid(), ++last_number);
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ >= 0) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  fail(ErrorKind::io_write, "a folder that can be written to", errno_text(errno));
}

// In pieces, so that one large tensor can be cancelled midway.
void OutputFile::write(std::string_view bytes) {
  while (!error_ && !bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), kPiece));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(ErrorKind::io_write, "to write on", errno_text(errno));
    bytes.remove_prefix(static_cast<std::size_t>(put));
    written_ += put;
    if (written_ - asked_ >= kPiece) ask_to_keep_going();
  }
}

void OutputFile::ask_to_keep_going() {
  asked_ = written_;
  if (options_.keep_going && !options_.keep_going(written_))
    fail(ErrorKind::io_write, "to write on", "a request to stop");
}

// link(2) fails where the name is taken by now. File systems without hard links have only rename(2), which would
// replace what came there since check_target() looked.
void OutputFile::take_name() {
  if (!options_.replace) {
    if (::link(temporary_.c_str(), path_.c_str()) == 0) return;
    if (errno == EEXIST) return fail(ErrorKind::output_exists, "a name that is free", "a file");
    check_target();
    if (error_) return;
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return fail(ErrorKind::io_write, "a file that can be renamed", errno_text(errno));
  }
  temporary_.clear();
}

// Order matters: the bytes are on the disk before the name is given, or a power failure could leave the name with a
// file of zeros.
Result<std::int64_t> OutputFile::publish() {
  if (!error_) ask_to_keep_going();
  if (!error_ && ::fsync(descriptor_) != 0) fail(ErrorKind::io_write, "to write on", errno_text(errno));
  if (!error_) ask_to_keep_going();  // forcing much to the disk takes long
  if (!error_) take_name();
  if (error_) return *error_;
  // So that the name outlasts a power failure. The file is whole either way: what cannot be synchronised is no error.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return written_;
}

}  // namespace posenc::io

namespace posenc::inline v0_2 {

Result<std::int64_t> write_file(const std::filesystem::path& path, std::string_view bytes,
                                const WriteOptions& options) {
  io::OutputFile out(path, options);
  out.write(bytes);
  return out.publish();
}

}  // namespace posenc::inline v0_2
