// The line on a terminal that says how far a long command is.
#include "line/progress.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace posenc::tool::progress_test {
namespace {

// A terminal that remembers, and a clock that is set by hand.
struct Terminal {
  double now = 100.0;
  std::vector<std::string> written;

  ProgressPlace place(bool terminal = true) {
    return {.terminal = terminal,
            .seconds = [this] { return now; },
            .write = [this](std::string_view text) { written.emplace_back(text); }};
  }
};

TEST(Progress, SaysNothingForASecond) {
  Terminal terminal;
  {
    Progress progress(terminal.place());
    for (int i = 0; i < 99; ++i, terminal.now += 0.01) progress.show("rotating rows", i, 100);
  }
  EXPECT_TRUE(terminal.written.empty());
}

TEST(Progress, ThenShowsTenTimesASecondAndGoesAway) {
  Terminal terminal;
  {
    Progress progress(terminal.place());
    terminal.now += 1.001;
    progress.show("rotating rows", 1, 4);
    progress.show("rotating rows", 2, 4);  // too soon
    terminal.now += 0.101;
    progress.show("writing out.npy", 3, 4);
  }
  const std::vector<std::string> expected{"rotating rows  25 %", "\r" + std::string(19, ' ') + "\r",
                                          "writing out.npy  75 %", "\r" + std::string(21, ' ') + "\r"};
  EXPECT_EQ(terminal.written, expected);
}

TEST(Progress, SaysNothingWhereThereIsNoTerminal) {
  Terminal terminal;
  Progress progress(terminal.place(false));
  terminal.now += 100;
  progress.show("rotating rows", 1, 4);
  progress.wipe();
  EXPECT_TRUE(terminal.written.empty());
}

TEST(Progress, OfNothingIsDone) {
  Terminal terminal;
  Progress progress(terminal.place());
  terminal.now += 2;
  progress.show("rotating rows", 0, 0);
  EXPECT_EQ(terminal.written, std::vector<std::string>{"rotating rows 100 %"});
}

}  // namespace
}  // namespace posenc::tool::progress_test
