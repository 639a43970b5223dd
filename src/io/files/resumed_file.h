// Writes a file of which an earlier run may have written a part: what is there is compared with what should be, and
// only what differs is written. So nothing that is found is trusted, and a run that was killed goes on.
//
//   ResumedFile out(path);
//   out.write(header); out.write(data);
//   return out.finish();
//
// The first failure sticks; finish() gives it. What was written stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "posenc/error.h"

namespace posenc::io {

class ResumedFile {
 public:
  // Makes the file where there is none. A symbolic link is not followed.
  explicit ResumedFile(const std::filesystem::path& path);
  ResumedFile(const ResumedFile&) = delete;
  ResumedFile& operator=(const ResumedFile&) = delete;
  ~ResumedFile();

  void write(std::span<const std::byte> bytes);
  // Cuts what is behind the last byte, and forces the file to the disk.
  std::optional<FileError> finish();

  bool failed() const noexcept { return error_.has_value(); }
  // Bytes that were there and right.
  std::int64_t found() const noexcept { return found_; }

 private:
  bool is_there(std::span<const std::byte> bytes);
  void put(std::span<const std::byte> bytes);
  void fail(std::string expected);  // by errno

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;  // when it was opened
  std::int64_t at_ = 0;
  std::int64_t found_ = 0;
  std::vector<std::byte> there_;  // what was read to compare
  std::optional<FileError> error_;
};

}  // namespace posenc::io
