// Where the lines of a survey go. A file holds whole lines and at most the start of one more, whatever ended the run
// that wrote them, so that another can go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "survey/model_list.h"

namespace posenc::tool {

// How the line of a model starts: {"model": "...", without what is behind the comma.
std::string start_of_line(std::string_view model);

class SurveyOutput {
 public:
  // `name` omitted: standard output. Throws Failure (3) for a file that is there unless it may be replaced or gone on
  // with, that cannot be written, or that another process is writing.
  SurveyOutput(const std::optional<std::string>& name, bool resume, bool force);
  SurveyOutput(const SurveyOutput&) = delete;
  SurveyOutput& operator=(const SurveyOutput&) = delete;
  ~SurveyOutput();

  // Passes over the models that have their line, and cuts off a line without its end. How many there are. Throws
  // Failure (4) where a line is not of the model of the list.
  std::int64_t pass_over(ModelList& list);

  // 0, or the exit code of what was said on standard error.
  int write(std::string_view line) const;

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::string name_;
  int file_ = -1;  // standard output has none
};

}  // namespace posenc::tool
