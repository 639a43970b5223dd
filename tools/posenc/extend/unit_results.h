// The file of --results: what was measured so far, a line of JSON each, behind a line that says of what.
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::tool {

class UnitResults {
 public:
  // Without a path nothing is kept. `of`: JSON, on one line; a file that begins with another line is refused
  // (UsageError), as is one with lines that are no results. An end without a newline is taken away: it was cut off.
  UnitResults(const std::optional<std::string>& path, const std::string& of);

  const std::vector<double>* find(std::string_view unit) const;
  // Throws Failure where the line cannot be written.
  void add(const std::string& unit, std::vector<double> numbers);

 private:
  void read(const std::string& text, const std::string& of);
  void write(const std::string& line);

  std::string path_;
  std::ofstream file_;
  std::map<std::string, std::vector<double>, std::less<>> found_;
};

}  // namespace posenc::tool
