// What a model family takes: one row, and one function beside it where its class has a rule that no other has. The one
// here is made up and stands in this file alone; and CONTRIBUTING.md shows rows that are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/json.h"
#include "plan/facts/layer_pattern.h"
#include "plan/facts/stack_facts.h"
#include "plan/families/class_defaults.h"
#include "plan/families/family.h"
#include "plan/families/family_tables.h"
#include "plan/scope/config_reader.h"
#include "plan/scope/config_scope.h"
#include "plan/towers/towers.h"
#include "support/test_data.h"

namespace posenc::test::own_family_test {
namespace {

// 1 / (2 sqrt(head_dim)).
std::optional<plan::Sourced<double>> comet_scale(plan::ConfigScope& scope, const plan::AttentionShape& shape) {
  return plan::Sourced<double>{0.5 / std::sqrt(static_cast<double>(shape.head_dim.value)),
                               plan::family_default(scope.family())};
}

constexpr plan::Family kRows[] = {{.name = "comet",
                                   .model_types = "comet comet_text",
                                   .class_stems = "Comet",
                                   .pairing = Pairing::interleaved,
                                   .own_names = "n_head",
                                   .width = plan::Width::partial_factor,
                                   .windows = plan::Windows::patterned,
                                   .default_pattern = 2,
                                   .softmax_scale = comet_scale,
                                   .misleading_keys = "alibi",
                                   .undecided_keys = "comet_tail"}};

// A config of that family, with `more` in it.
std::string config(std::string_view more = "") {
  return R"({"num_hidden_layers": 2, "n_head": 4, "hidden_size": 256, "max_position_embeddings": 4096,
             "rope_theta": 5000.0, "partial_rotary_factor": 0.5, "sliding_window": 128)" +
         std::string(more) + "}";
}

struct Reading {
  std::vector<plan::StackFacts> stacks;
  std::vector<std::string> warnings;  // codes
};

Reading read_comet(const std::string& text) {
  const Result<io::JsonDocument> document = io::JsonDocument::parse(text, "config.json");
  EXPECT_TRUE(document);
  plan::ConfigReader reader(*document);
  reader.enter(reader.root());
  const plan::FamilyObject object{
      .object = reader.root(), .family = kRows[0], .model_type = "comet", .architecture = "CometForCausalLM"};
  Reading out{.stacks = plan::read_family_stacks(reader, object), .warnings = {}};
  EXPECT_FALSE(reader.failed());
  for (const Warning& warning : reader.take_warnings()) out.warnings.push_back(warning.code);
  return out;
}

// A row that said it again would be read nowhere: the class's default comes first (layer_pattern.cpp).
TEST(Families, a_pattern_that_the_class_defaults_have_is_in_no_row) {
  int patterns = 0;
  for (const std::span<const plan::Family> rows : plan::family_tables()) {
    for (const plan::Family& row : rows) {
      patterns += row.default_pattern != 0 ? 1 : 0;
      if (row.default_pattern == 0) continue;
      EXPECT_FALSE(plan::find_class_default(row.name, "sliding_window_pattern")) << row.name;
      for (const std::string_view type : row.model_types) {
        EXPECT_FALSE(plan::find_class_default(type, "sliding_window_pattern")) << type;
      }
    }
  }
  EXPECT_GT(patterns, 5);
}

TEST(OwnFamily, is_found_by_its_names) {
  EXPECT_EQ(plan::find_family(kRows, "comet"), &kRows[0]);
  EXPECT_EQ(plan::find_family(kRows, "comet_text"), &kRows[0]);
  EXPECT_EQ(plan::find_family(kRows, "comet comet_text"), nullptr);
  EXPECT_EQ(plan::find_family(kRows, "come"), nullptr);
  EXPECT_EQ(plan::find_family(kRows, ""), nullptr);
  EXPECT_EQ(plan::find_family("comet"), nullptr) << "it is in this file alone";
  EXPECT_TRUE(plan::has_class(kRows[0], "CometForCausalLM"));
  EXPECT_FALSE(plan::has_class(kRows[0], "CometTextForCausalLM"));
}

TEST(OwnFamily, is_read_by_its_row) {
  const Reading reading = read_comet(config());
  ASSERT_EQ(reading.stacks.size(), 1u);
  EXPECT_TRUE(reading.stacks[0].unknown.empty());
  const std::vector<LayerPlan>& layers = reading.stacks[0].layers.layers();
  ASSERT_EQ(layers.size(), 2u);
  for (const LayerPlan& layer : layers) {
    EXPECT_EQ(layer.heads, 4);
    ASSERT_EQ(layer.rotate.size(), 1u);
    const Rope& rotated = rope(layer.rotate[0]);
    EXPECT_EQ(rotated.pairing, Pairing::interleaved);
    EXPECT_EQ(rotated.dim, 32);  // half of 256 / 4
    EXPECT_EQ(rotated.base, 5000.0);
    EXPECT_EQ(layer.softmax_scale, 0.5 / 8) << "by the function beside the row";
  }
  ASSERT_TRUE(layers[0].mask.window);
  EXPECT_EQ(layers[0].mask.window->past, 127);
  EXPECT_FALSE(layers[1].mask.window) << "each second layer is full";
}

TEST(OwnFamily, says_what_it_does_not_read) {
  EXPECT_EQ(read_comet(config(R"(, "alibi": "yes")")).warnings, std::vector<std::string>{"misleading-key"});
  const Reading undecided = read_comet(config(R"(, "comet_tail": 3)"));
  EXPECT_EQ(undecided.warnings, std::vector<std::string>{"undecided"});
  EXPECT_FALSE(undecided.stacks[0].unknown.empty());
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(source_folder() / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The parts of the page's example, a file's name in a comment before each, stand in those files.
TEST(OwnFamily, the_example_of_the_contributors_page_is_real) {
  const std::string page = text_of("CONTRIBUTING.md");
  const std::string_view fence = "```cpp\n";
  const std::size_t begin = page.find(fence, page.find("## Adding a model family"));
  ASSERT_NE(begin, std::string::npos);
  const std::size_t first = begin + fence.size();
  std::string_view example = std::string_view(page).substr(first, page.find("```", first) - first);
  int parts = 0;
  for (; example.starts_with("// "); ++parts) {
    const std::size_t line = example.find('\n');
    const std::string file = text_of(std::string(example.substr(3, line - 3)));
    const std::size_t end = std::min(example.find("\n\n"), example.size() - 1);
    const std::string_view part = example.substr(line + 1, end - line);
    EXPECT_NE(file.find(part), std::string::npos) << part;
    example.remove_prefix(std::min(example.size(), end + 2));
  }
  EXPECT_EQ(parts, 3);
  EXPECT_TRUE(example.empty()) << example;
}

}  // namespace
}  // namespace posenc::test::own_family_test
