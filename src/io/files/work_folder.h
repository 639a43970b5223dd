// A folder in which something large is made in several runs, and which then takes its name.
//
//   auto work = WorkFolder::open("out.posenc-partial", record);   // made, or found with the same record
//   ... files in it, by ResumedFile ...
//   work->finish(name);
//   return work->become("out");
//
// The record, a text in the folder, says what is being made: a folder of another record is refused, since its files are
// of something else. One process works in it at a time. What is in the folder when a run ends early stays for the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "posenc/error.h"

namespace posenc::io {

class WorkFolder {
 public:
  // `what`: one line of JSON.
  static Result<WorkFolder> open(const std::filesystem::path& path, std::string_view what);
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  const std::filesystem::path& path() const noexcept { return path_; }
  // Whether the record says that a file was finished. What it holds is for the caller to compare.
  bool is_finished(std::string_view name) const { return finished_.find(name) != finished_.end(); }
  std::optional<FileError> finish(std::string_view name);

  // The bytes that the disk has room for, or nothing where the system does not say.
  std::optional<std::uint64_t> room() const;

  // An error where the folder has other files than these.
  std::optional<FileError> check_names(std::span<const std::string> expected) const;

  // The folder itself becomes `path`, where there is nothing or an empty folder.
  std::optional<FileError> become(const std::filesystem::path& path);
  // The one file `name` becomes `path`, and the folder goes.
  std::optional<FileError> become(const std::filesystem::path& path, std::string_view name, bool replace);

 private:
  WorkFolder(std::filesystem::path path, std::string what) : path_(std::move(path)), what_(std::move(what)) {}
  std::optional<FileError> lock();
  std::optional<FileError> read_record();
  std::optional<FileError> write_record();
  std::string record() const;
  FileError failed(std::string expected) const;  // by errno

  std::filesystem::path path_;
  std::string what_;
  std::set<std::string, std::less<>> finished_;
  int descriptor_ = -1;  // of the folder, locked
};

}  // namespace posenc::io
