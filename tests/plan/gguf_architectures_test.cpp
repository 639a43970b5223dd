// The table of architectures: against docs/gguf.md, and each row once through the reader.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "plan/gguf/architecture.h"
#include "plan/gguf_reading.h"
#include "support/test_data.h"

namespace posenc::test::gguf_architectures_test {
namespace {

std::string page() {
  std::ifstream file(source_folder() / "docs/gguf.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(GgufArchitectures, StandInTheDocumentationWithTheirPairing) {
  const std::string text = page();
  EXPECT_NE(text.find(plan::kGgufRulesFrom), std::string::npos);
  std::size_t rows = 0;
  for (const plan::GgufArchitecture& row : plan::gguf_architectures()) {
    std::string cell = row.undecided.empty() ? std::string(plan::name(row.rotation)) : "not decided";
    const std::string line = "\n| `" + std::string(row.name) + "` | " + cell + " |";
    EXPECT_NE(text.find(line), std::string::npos) << line;
    ++rows;
  }
  const std::size_t table = text.find("| architecture | pairing |");
  ASSERT_NE(table, std::string::npos);
  const std::string_view after = std::string_view(text).substr(table);
  const std::string_view lines = after.substr(0, after.find("\n\n"));
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(lines, '\n')), rows + 1);
}

TEST(GgufArchitectures, HaveEachNameOnce) {
  std::set<std::string_view> names;
  for (const plan::GgufArchitecture& row : plan::gguf_architectures())
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_EQ(plan::find_gguf_architecture("llama")->name, "llama");
  EXPECT_EQ(plan::find_gguf_architecture("lama"), nullptr);
}

// Every key that a row may require; a row ignores those that are not its own.
GgufBuilder complete(const std::string& name) {
  const std::string head = name + ".";
  GgufBuilder file = model(name, 4);
  file.u32(head + "attention.key_length", 64)
      .u32(head + "attention.value_length", 64)
      .u32(head + "attention.sliding_window", 512)
      .flags(head + "attention.sliding_window_pattern", {true, false, true, false})
      .u32(head + "rope.dimension_count", 32)
      .i32s(head + "rope.dimension_sections", {4, 6, 6, 0})
      .u32(head + "full_attention_interval", 2)
      .u32(head + "feed_forward_length", 512)
      .u32(head + "attention.relative_buckets_count", 32)
      .u32(head + "attention.indexer.head_count", 4)
      .u32(head + "attention.indexer.key_length", 64)
      .zeros("token_embd.weight", {256, 4});
  return file;
}

TEST(GgufArchitectures, AreEachReadIntoAPlanThatItsJsonKeeps) {
  for (const plan::GgufArchitecture& row : plan::gguf_architectures()) {
    SCOPED_TRACE(row.name);
    GgufBuilder file = complete(std::string(row.name));
    if (row.name == "mpt" || row.learned == plan::GgufPresence::always) file.zeros("position_embd.weight", {256, 64});
    const Plan plan = gguf_plan(file);
    // Baichuan's code knows models of 32 and of 40 layers only.
    EXPECT_EQ(plan.known, row.undecided.empty() && row.name != "baichuan");
    if (!row.undecided.empty()) continue;
    ASSERT_FALSE(plan.stacks.empty());
    EXPECT_EQ(plan.stacks[0].layers.size(), 4u);
    const bool rotates =
        std::ranges::any_of(plan.stacks[0].layers, [](const LayerPlan& l) { return !l.rotate.empty(); });
    EXPECT_EQ(rotates, row.rotation != plan::GgufRotation::none);
    const Result<Plan> again = plan_from_json(to_json(plan));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, plan);
  }
}

}  // namespace
}  // namespace posenc::test::gguf_architectures_test
