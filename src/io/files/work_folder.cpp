#include "io/files/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "base/formatted.h"
#include "io/files/read_all.h"
#include "io/files/resumed_file.h"
#include "io/files/text_file.h"
#include "io/json/json.h"
#include "io/json/json_writer.h"

namespace posenc::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecord = ".posenc-work.json";
// What the record is written to before it takes its name. One name: a run that is killed leaves no more than one.
constexpr std::string_view kNextRecord = ".posenc-work.json.next";
constexpr std::int64_t kMostRecordBytes = std::int64_t{4} << 20;

FileError folder_error(ErrorKind kind, const fs::path& path, std::string expected, std::string got,
                       std::string detail = {}) {
  FileError error;
  error.kind = kind;
  error.file = path.native();
  error.expected = std::move(expected);
  error.got = std::move(got);
  error.detail = std::move(detail);
  return error;
}

// So that names outlast a power failure; what cannot be synchronised is no error.
void synchronise_folder(const fs::path& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace

Result<WorkFolder> WorkFolder::open(const fs::path& path, std::string_view what) {
  WorkFolder out(path, std::string(what));
  const bool fresh = ::mkdir(path.c_str(), 0777) == 0;
  if (!fresh && errno != EEXIST) return out.failed("a folder that can be made");
  if (auto error = out.lock()) return *std::move(error);
  if (!fresh) {
    if (auto error = out.read_record()) return *std::move(error);
  }
  if (auto error = out.write_record()) return *std::move(error);
  return out;
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : path_(std::move(other.path_)),
      what_(std::move(other.what_)),
      finished_(std::move(other.finished_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

WorkFolder::~WorkFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileError WorkFolder::failed(std::string expected) const {
  return folder_error(ErrorKind::io_write, path_, std::move(expected), errno_text(errno));
}

// The lock goes with the descriptor, whatever ends the process. File systems without locks have none.
std::optional<FileError> WorkFolder::lock() {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor_ < 0) return failed("a folder to work in");
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  return folder_error(ErrorKind::output_exists, path_, "a folder that nobody works in", "another process at work");
}

// A folder that was made and not yet written to has no record.
std::optional<FileError> WorkFolder::read_record() {
  ::unlink((path_ / kNextRecord).c_str());
  std::error_code failure;
  const fs::path record_path = path_ / kRecord;
  if (fs::is_empty(path_, failure)) return {};
  const auto other = [&](std::string got) {
    return folder_error(ErrorKind::output_exists, path_, "what an earlier run of the same work left", std::move(got),
                        "remove the folder to start again");
  };
  const Result<std::string> text = read_text_file(record_path, kMostRecordBytes);
  if (!text) return other("a folder without its record");
  const Result<JsonDocument> document = JsonDocument::parse(*text, record_path.native());
  if (!document) return other("a record that cannot be read");
  const Result<std::optional<JsonValue>> list = document->root().find("finished");
  if (!list || !*list) return other("a record without a list of what is finished");
  for (const JsonValue& name : (*list)->items()) {
    const Result<std::string_view> one = name.as_string();
    if (!one) return other("a record that cannot be read");
    finished_.emplace(*one);
  }
  if (*text == record()) return {};
  return other("the record of another");
}

std::string WorkFolder::record() const {
  JsonWriter json;
  json.begin_object();
  json.key("work");
  json.verbatim(what_);
  json.key("finished");
  json.begin_array();
  for (const std::string& name : finished_) json.value(name);
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

std::optional<FileError> WorkFolder::write_record() {
  const fs::path next = path_ / kNextRecord;
  ResumedFile out(next);
  const std::string text = record();
  out.write(std::as_bytes(std::span(text)));
  if (auto error = out.finish()) return error;
  if (::rename(next.c_str(), (path_ / kRecord).c_str()) != 0) return failed("a record that can be renamed");
  return {};
}

std::optional<FileError> WorkFolder::finish(std::string_view name) {
  if (!finished_.emplace(name).second) return {};
  return write_record();
}

std::optional<std::uint64_t> WorkFolder::room() const {
  struct statvfs status {};
  if (::fstatvfs(descriptor_, &status) != 0) return {};
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

std::optional<FileError> WorkFolder::check_names(std::span<const std::string> expected) const {
  std::error_code failure;
  for (const fs::directory_entry& one : fs::directory_iterator(path_, failure)) {
    const std::string name = one.path().filename().native();
    if (name == kRecord || std::ranges::find(expected, name) != expected.end()) continue;
    return folder_error(ErrorKind::output_exists, one.path(), "nothing but the files of this work", "another",
                        "remove it to go on");
  }
  return {};
}

// rename(2) of a folder replaces an empty one and nothing else. The record goes last: without it, a folder that has not
// got its name yet could not be gone on with.
std::optional<FileError> WorkFolder::become(const fs::path& path) {
  synchronise_folder(path_);
  if (::rename(path_.c_str(), path.c_str()) != 0) {
    const bool taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
    return folder_error(taken ? ErrorKind::output_exists : ErrorKind::io_write, path, "a name that is free",
                        errno_text(errno));
  }
  ::unlink((path / kRecord).c_str());
  synchronise_folder(parent_of(path));
  return {};
}

// As OutputFile: link(2) fails where the name was taken meanwhile, and file systems without hard links have rename(2)
// only.
std::optional<FileError> WorkFolder::become(const fs::path& path, std::string_view name, bool replace) {
  const fs::path made = path_ / name;
  const bool linked = !replace && ::link(made.c_str(), path.c_str()) == 0;
  if (!linked && !replace && errno == EEXIST) {
    return folder_error(ErrorKind::output_exists, path, "a name that is free", "a file");
  }
  if (!linked && ::rename(made.c_str(), path.c_str()) != 0) {
    return folder_error(ErrorKind::io_write, path, "a file that can be renamed", errno_text(errno));
  }
  if (linked) ::unlink(made.c_str());
  ::unlink((path_ / kRecord).c_str());
  ::rmdir(path_.c_str());
  synchronise_folder(parent_of(path));
  return {};
}

}  // namespace posenc::io
