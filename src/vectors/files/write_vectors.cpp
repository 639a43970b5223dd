// A directory that is there whole or not at all: its files are written to one beside it, which then gets the name.
// rename(2) takes the place of nothing but an empty directory.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/vectors.h"
#include "posenc/write_file.h"

namespace posenc::inline v0_2 {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWriteVectors = "write_vectors";
constexpr int kNameAttempts = 100;  // at a name that nobody uses

// Makes the names of this process's temporary directories differ, whichever thread writes them.
std::atomic<std::uint32_t> last_directory = 0;

FileError write_error(const fs::path& path, ErrorKind kind, std::string expected, std::string got) {
  return {.kind = kind,
          .file = path.native(),
          .path = {},
          .expected = std::move(expected),
          .got = std::move(got),
          .detail = {}};
}

void require_names(std::span<const VectorFile> files) {
  if (files.empty()) throw Error(kWriteVectors, {"files", "be given", "empty"});
  for (const VectorFile& file : files) {
    const bool is_plain = !file.name.empty() && file.name.front() != '.' && file.name.find('/') == std::string::npos &&
                          file.name.find('\0') == std::string::npos;
    if (!is_plain) throw Error(kWriteVectors, {"files", "have names without a folder", formatted("\"{}\"", file.name)});
    if (std::ranges::count(files, file.name, &VectorFile::name) > 1) {
      throw Error(kWriteVectors, {"files", "have each name once", formatted("\"{}\" again", file.name)});
    }
  }
}

// Removes its files, and itself, unless it got its name; without an allocation, since memory may be what was short.
class TemporaryDirectory {
 public:
  TemporaryDirectory(const fs::path& beside, std::span<const VectorFile> files) {
    const fs::path folder = beside.has_parent_path() ? beside.parent_path() : fs::path(".");
    for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
      fs::path name = folder / formatted(".posenc-{}-{}.tmp", ::getpid(), ++last_directory);
      std::vector<fs::path> paths;
      for (const VectorFile& file : files) paths.push_back(name / file.name);
      if (fs::create_directory(name, error_)) {
        path_ = std::move(name);
        paths_ = std::move(paths);
        return;
      }
      if (error_) return;
    }
    error_ = std::make_error_code(std::errc::file_exists);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    if (path_.empty()) return;
    for (const fs::path& file : paths_) ::unlink(file.c_str());
    ::rmdir(path_.c_str());
  }

  const std::error_code& error() const { return error_; }
  const fs::path& path() const { return path_; }
  std::error_code give_name(const fs::path& name) {
    std::error_code error;
    fs::rename(path_, name, error);
    if (!error) path_.clear();
    return error;
  }

 private:
  fs::path path_;
  std::vector<fs::path> paths_;  // of the files
  std::error_code error_;
};

// Without slashes at its end, which would name the directory within.
fs::path without_slashes(const fs::path& directory) {
  std::string text = directory.native();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace

Result<std::int64_t> write_vectors(const fs::path& directory, std::span<const VectorFile> files) {
  require_names(files);
  const fs::path target = without_slashes(directory);
  const bool is_path = !target.empty() && target.native().find('\0') == std::string::npos;
  if (!is_path) return write_error(target, ErrorKind::bad_path, "a path", "an empty one, or one with a NUL byte");
  std::error_code error;
  const fs::file_status there = fs::symlink_status(target, error);
  if (fs::exists(there) && (!fs::is_directory(there) || !fs::is_empty(target, error))) {
    return write_error(target, ErrorKind::output_exists, "a name that is free, or an empty directory",
                       fs::is_directory(there) ? "a directory with files" : "something else");
  }
  TemporaryDirectory temporary(target, files);
  if (temporary.error()) {
    return write_error(target, ErrorKind::io_write, "a folder that can be written to", temporary.error().message());
  }
  std::int64_t bytes = 0;
  for (const VectorFile& file : files) {
    const Result<std::int64_t> written = write_file(temporary.path() / file.name, file.bytes);
    if (!written) {
      FileError failed = written.error();
      failed.file = (target / file.name).native();
      return failed;
    }
    bytes += *written;
  }
  if (const std::error_code failed = temporary.give_name(target)) {
    const bool is_taken = failed == std::errc::directory_not_empty || failed == std::errc::file_exists;
    return write_error(target, is_taken ? ErrorKind::output_exists : ErrorKind::io_write,
                       "a name that is free, or an empty directory", failed.message());
  }
  return bytes;
}

}  // namespace posenc::inline v0_2
