// Opens a regular file to read from, without being led into a hang: pipes and devices are refused before reading. A
// path to a model comes from users and, in an index of shards, from the file itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "posenc/error.h"

namespace posenc::io {

class RegularFile {
 public:
  // Follows symbolic links, of which Hugging Face's cache consists; what they lead to must be a regular file. An empty
  // path and one with a NUL byte are ErrorKind::bad_path, anything but a regular file ErrorKind::not_regular_file.
  static Result<RegularFile> open(const std::filesystem::path& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  const std::string& name() const noexcept { return name_; }
  std::int64_t size() const noexcept { return size_; }  // when it was opened; 0 where the file system does not know
  // Asks the file system again: MappedFile compares it with size().
  Result<std::int64_t> size_now() const;
  int descriptor() const noexcept { return descriptor_; }
  // As read(2) and pread(2).
  std::ptrdiff_t read(char* to, std::size_t count) const;
  std::ptrdiff_t read_at(std::uint64_t offset, char* to, std::size_t count) const;

 private:
  RegularFile(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  int descriptor_;
  std::string name_;
  std::int64_t size_ = 0;
};

}  // namespace posenc::io
