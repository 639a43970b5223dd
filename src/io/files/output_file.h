// Writes a file so that its name never stands for half of it: all bytes go to a file beside it, are forced to the disk,
// and only then get the name.
//
//   OutputFile out(path, {.replace = true});
//   out.write(header); out.write(data);
//   return out.publish();
//
// The first failure sticks; publish() gives it. What is not published is removed with the object. (A process that is
// killed leaves a file .posenc-PROCESS-NUMBER.tmp.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "posenc/error.h"
#include "posenc/write_file.h"

namespace posenc::io {

class OutputFile {
 public:
  // Without options.replace nothing may stand at `path`; with it, a regular file may.
  OutputFile(const std::filesystem::path& path, const WriteOptions& options);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Appends; after a failure it does nothing. keep_going is asked every 16 MiB.
  void write(std::string_view bytes);
  // Once, after the last write: forces the bytes to the disk and gives the file its name. Gives the bytes written.
  Result<std::int64_t> publish();

 private:
  // Each sets error_ where it fails.
  void check_target();
  void open_temporary();
  void take_name();
  void ask_to_keep_going();
  void fail(ErrorKind kind, std::string expected, std::string got);

  // The file's name, the folder that it and the temporary file are in ("." where the path has none), and the latter's
  // name.
  std::string path_;
  std::string folder_;
  std::string temporary_;  // empty: there is none
  int descriptor_ = -1;
  WriteOptions options_;
  std::int64_t written_ = 0;
  std::int64_t asked_ = 0;  // how many bytes were written by then
  std::optional<FileError> error_;
};

}  // namespace posenc::io
