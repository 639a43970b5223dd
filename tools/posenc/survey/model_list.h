// A list of models: a word on each line. Read as it is needed, so that it may be as long as it likes.
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <optional>
#include <string>

namespace posenc::tool {

class ModelList {
 public:
  // A file, or - for standard input. Throws Failure (3) where there is none.
  explicit ModelList(const std::string& name);

  // The word of the next line that is not empty; none: there is no more. Throws Failure: 4 for a line that is longer
  // than any path, 3 where reading fails.
  std::optional<std::string> next();
  // The word that came last comes again.
  void again() { is_again_ = true; }

 private:
  std::string name_;
  std::ifstream file_;
  std::istream* from_;
  std::int64_t line_ = 0;
  std::optional<std::string> last_;
  bool is_again_ = false;
};

}  // namespace posenc::tool
