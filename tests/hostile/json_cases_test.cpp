#include "hostile/json_cases.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "support/heap_probe.h"

namespace posenc::test {
namespace {

class HostileJson : public testing::TestWithParam<JsonCase> {};

std::optional<FileError> outcome(const JsonCase& c, const std::string& text) {
  const HeapProbe probe;
  const Result<io::JsonDocument> document = io::JsonDocument::parse(text, "hostile.json");
  EXPECT_LE(probe.peak_growth(), json_heap_bound(static_cast<std::int64_t>(text.size())));
  if (!document.ok()) return document.error();
  return c.ask ? c.ask(*document) : std::nullopt;
}

TEST_P(HostileJson, ComesToItsOutcome) {
  const JsonCase& c = GetParam();
  const std::optional<FileError> error = outcome(c, c.make());
  if (!c.kind.has_value()) {
    EXPECT_FALSE(error.has_value()) << error->message();
    return;
  }
  ASSERT_TRUE(error.has_value());
  const std::string message = error->message();
  EXPECT_EQ(name(error->kind), name(*c.kind)) << message;
  EXPECT_EQ(error->line, c.place.line) << message;
  EXPECT_EQ(error->column, c.place.column) << message;
  EXPECT_EQ(error->offset, c.place.offset) << message;
  EXPECT_EQ(error->path, c.place.pointer) << message;
  EXPECT_EQ(message.rfind("hostile.json", 0), 0u) << message;
  EXPECT_NE(message.find(c.fragment), std::string::npos) << message;
  EXPECT_LT(message.size(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(B, HostileJson, testing::ValuesIn(json_cases()), [](const auto& row) {
  std::string id = row.param.id;
  for (char& c : id) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return id;
});

TEST(HostileJsonTable, HasEveryIdOnceAndEveryRefusalHasItsFragment) {
  std::set<std::string> ids;
  std::set<std::string> groups;
  for (const JsonCase& c : json_cases()) {
    EXPECT_TRUE(ids.insert(c.id).second) << c.id;
    groups.insert(c.id.substr(0, c.id.find('_')));
    EXPECT_EQ(c.kind.has_value(), !c.fragment.empty()) << c.id;
  }
  EXPECT_EQ(groups.size(), 17u);
}

}  // namespace
}  // namespace posenc::test

namespace posenc::test {
// What GoogleTest prints of a case.
void PrintTo(const JsonCase& c, std::ostream* out) { *out << c.id; }
}  // namespace posenc::test
