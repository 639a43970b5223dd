// A list of models: a word on each line. Read as it is needed, so that it may be as long as it likes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace posenc::tool {

class ModelList {
 public:
  // A file, a pipe, or - for standard input. Throws Failure (3) where there is none.
  explicit ModelList(const std::string& name);
  ModelList(const ModelList&) = delete;
  ModelList& operator=(const ModelList&) = delete;
  ~ModelList();

  // The word of the next line that is not empty; none: there is no more. Throws Failure: 4 for a line that is longer
  // than any path, 3 where reading fails.
  std::optional<std::string> next();
  // The word that came last comes again.
  void again() { is_again_ = true; }

 private:
  std::optional<char> next_byte();

  std::string name_;
  int file_ = 0;  // standard input
  std::string bytes_;
  std::size_t at_ = 0;  // of bytes_, up to end_
  std::size_t end_ = 0;
  std::int64_t line_ = 0;
  std::optional<std::string> last_;
  bool is_again_ = false;
};

}  // namespace posenc::tool
