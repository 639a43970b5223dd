// Tiles and alternate signal stacks (cpu/machine/x86/tile_permission.h): where a thread has one that is too small for
// tiles the system does not grant them, and posenc does without; once they are granted it takes no such stack any more.
// A process asks once, so each case is one of its own: a "threadsafe" death test of GoogleTest starts the program anew,
// and the system forgets over exec.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "cpu/machine/machine.h"
#include "posenc/error.h"
#include "posenc/info.h"

namespace posenc::test::signal_stack_test {
namespace {

// By feature bits: info() would ask for them.
bool has_tiles() {
  const std::vector<std::string> features = cpu::processor_features();
  return std::ranges::count(features, "amx_tile") == 1 && std::ranges::count(features, "amx_bf16") == 1;
}

// Whether the system takes a signal stack of 4 KiB for this thread: tiles alone have 8. It is kept until the process
// ends.
bool set_small_stack() {
  static thread_local std::vector<std::byte> memory(4096);
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  return sigaltstack(&stack, nullptr) == 0;
}

void name_isa(const char* wanted) { setenv("POSENC_ISA", wanted, 1); }

bool are_tiles_offered() {
  const std::vector<Isa> isas = supported_isas();
  return std::ranges::find(isas, Isa::amx) != isas.end();
}

[[noreturn]] void answer(const char* question, bool yes) {
  std::fprintf(stderr, "%s: %s\n", question, yes ? "yes" : "no");
  std::exit(0);
}

class SignalStack : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_tiles()) GTEST_SKIP() << "this machine has no AMX";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(SignalStack, NoneLeavesTilesWhichAreChosen) {
  const auto ask = [] {
    name_isa("");
    answer("offered, chosen", are_tiles_offered() && selected_isa() == Isa::amx);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "offered, chosen: yes");
}

TEST_F(SignalStack, OfTheSameThreadRefusesTiles) {
  const auto ask = [] {
    name_isa("");
    const bool small = set_small_stack();
    answer("no tiles beside a small stack", small && !are_tiles_offered() && selected_isa() != Isa::amx);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "no tiles beside a small stack: yes");
}

TEST_F(SignalStack, OfAnotherThreadRefusesTiles) {
  const auto ask = [] {
    name_isa("");
    std::promise<bool> set;
    std::promise<void> asked;
    std::thread other([&] {
      set.set_value(set_small_stack());
      asked.get_future().wait();
    });
    const bool small = set.get_future().get();
    const bool offered = are_tiles_offered();
    asked.set_value();
    other.join();
    answer("without tiles", small && !offered);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "without tiles: yes");
}

TEST_F(SignalStack, RefusalIsAnErrorWhereTilesAreNamed) {
  const auto ask = [] {
    name_isa("amx");
    const bool small = set_small_stack();
    bool refused = false;
    try {
      (void)selected_isa();
    } catch (const Error&) {
      refused = true;
    }
    answer("named, refused", small && refused);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "named, refused: yes");
}

TEST_F(SignalStack, IsRefusedOnceTilesAreGranted) {
  const auto ask = [] {
    name_isa("automatic");
    const bool offered = are_tiles_offered();
    answer("tiles, no small stack", offered && !set_small_stack());
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "tiles, no small stack: yes");
}

TEST_F(SignalStack, StaysWithWhoeverNamesAnotherSet) {
  const auto ask = [] {
    name_isa("avx512");
    const bool offered = are_tiles_offered();
    answer("no tiles, small stack", !offered && set_small_stack());
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "no tiles, small stack: yes");
}

}  // namespace
}  // namespace posenc::test::signal_stack_test
