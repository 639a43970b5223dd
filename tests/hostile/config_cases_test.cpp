// The hostile configs of config_cases.tsv, through read_plan(): JSON that makes no sense, or only looks odd. The same
// rows go through the command line in cli_cases_test.py.
//
// A row: case, kind of the error or "ok", the place's JSON pointer and line, a part of the message (of an accepted
// config: the code of its warning, or nothing), the text. In the text, \n is a line feed and \ufeff a byte order mark.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "posenc/read_plan.h"
#include "support/heap_probe.h"

namespace posenc::test {
namespace {

struct ConfigCase {
  std::string id;
  std::string kind;
  std::string pointer;
  std::string line;
  std::string fragment;
  std::string text;
};

std::string unescaped(std::string text) {
  const auto replace = [&text](std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace("\\n", "\n");
  replace("\\ufeff", "\xEF\xBB\xBF");
  return text;
}

std::vector<ConfigCase> config_cases() {
  std::ifstream file(POSENC_SOURCE_DIR "/tests/hostile/config_cases.tsv");
  std::vector<ConfigCase> cases;
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == '\t') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    cells.resize(6);
    cases.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], unescaped(cells[5])});
  }
  return cases;
}

Result<Plan> read_bounded(const std::string& text) {
  const HeapProbe probe;
  Result<Plan> plan = read_plan(std::as_bytes(std::span(text.data(), text.size())), "config.json");
  EXPECT_LE(probe.peak_growth(), json_heap_bound(static_cast<std::int64_t>(text.size())));
  return plan;
}

void expect_error(const ConfigCase& c, const FileError& error) {
  const std::string message = error.message();
  EXPECT_EQ(name(error.kind), c.kind) << message;
  EXPECT_EQ(error.path, c.pointer) << message;
  EXPECT_EQ(std::to_string(error.line), c.line) << message;
  EXPECT_EQ(error.file, "config.json");
  EXPECT_FALSE(error.expected.empty()) << message;
  EXPECT_NE(message.find(c.fragment), std::string::npos) << message;
}

void expect_plan(const ConfigCase& c, const Plan& plan) {
  EXPECT_TRUE(plan.known);
  if (c.fragment.empty()) {
    EXPECT_TRUE(plan.warnings.empty()) << plan.warnings.front().message;
  }
  const bool warned = std::ranges::find(plan.warnings, c.fragment, &Warning::code) != plan.warnings.end();
  EXPECT_EQ(warned, !c.fragment.empty()) << "the warning " << c.fragment;
}

class HostileConfig : public testing::TestWithParam<ConfigCase> {};

TEST_P(HostileConfig, ComesToItsOutcome) {
  const ConfigCase& c = GetParam();
  const Result<Plan> plan = read_bounded(c.text);
  if (plan.ok()) {
    ASSERT_EQ(c.kind, "ok");
    return expect_plan(c, *plan);
  }
  ASSERT_NE(c.kind, "ok") << plan.error().message();
  expect_error(c, plan.error());
}

INSTANTIATE_TEST_SUITE_P(Table, HostileConfig, testing::ValuesIn(config_cases()),
                         [](const auto& row) { return row.param.id; });

TEST(HostileConfigTable, HasEveryCaseOnceAndARefusalHasItsFragment) {
  std::set<std::string> ids;
  for (const ConfigCase& c : config_cases()) {
    EXPECT_TRUE(ids.insert(c.id).second) << c.id;
    EXPECT_TRUE(c.kind == "ok" || !c.fragment.empty()) << c.id;
  }
  EXPECT_GE(ids.size(), 100u);
}

}  // namespace
}  // namespace posenc::test

namespace posenc::test {
namespace {
// What GoogleTest prints of a case.
[[maybe_unused]] void PrintTo(const ConfigCase& c, std::ostream* out) { *out << c.id; }
}  // namespace
}  // namespace posenc::test
