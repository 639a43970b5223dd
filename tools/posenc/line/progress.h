// How far a long command is: one line on a terminal's standard error, when the work has taken a second, wiped at the
// end. Nothing where standard error is no terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace posenc::tool {

// Where it shows, and by what clock; tests have their own. Where `terminal` is false, neither function is called.
struct ProgressPlace {
  bool terminal = false;
  std::function<double()> seconds{};
  std::function<void(std::string_view)> write{};
};
ProgressPlace standard_error();

class Progress {
 public:
  explicit Progress(ProgressPlace place = standard_error());
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { wipe(); }

  // "rotating rows  42 %". Cheap: calls between two tenths of a second do nothing.
  void show(std::string_view what, std::int64_t done, std::int64_t all);
  // Takes the line away, before anything else is written.
  void wipe();

 private:
  ProgressPlace place_;
  double shown_at_;  // first a second after the start
  std::size_t columns_ = 0;
};

}  // namespace posenc::tool
