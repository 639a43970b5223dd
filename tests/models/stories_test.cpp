// stories260K of llama2.c: five layers, trained; greedy decoding tells the published story, 256 tokens of it.
//
// The checkpoint keeps Meta's order of channels, interleaved. Its header is not a config: the plan comes from
// the config.json that says the same, read as a Llama's, and Meta's pairing is put in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/network.h"
#include "models/spoils.h"
#include "models/weights.h"
#include "posenc/read_plan.h"
#include "support/every_isa.h"
#include "support/test_data.h"

namespace posenc::test::stories_test {
namespace {

constexpr const char* kFolder = "weights/llama2c";
constexpr std::int64_t kBegin = 1;        // the token before a text and after it
constexpr std::int64_t kSteps = 256;      // llama2.c's run stops there
constexpr std::int64_t kFirstSteps = 96;  // a token costs as much as all before it: these are a seventh of the whole

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The config.json that says what the header says: dim, hidden_dim, layers, heads, kv_heads, vocab, length, all int32.
// Epsilon and base are llama2.c's constants.
std::string config_of(const std::filesystem::path& checkpoint) {
  std::int32_t sizes[7] = {};
  const std::string file = text_of(checkpoint);
  EXPECT_GT(file.size(), sizeof sizes);
  std::memcpy(sizes, file.data(), std::min(file.size(), sizeof sizes));
  constexpr const char* kKeys[7] = {
      "hidden_size",         "intermediate_size", "num_hidden_layers",      "num_attention_heads",
      "num_key_value_heads", "vocab_size",        "max_position_embeddings"};
  std::string config = R"({"model_type": "llama", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": null)";
  for (std::size_t i = 0; i < 7; ++i) config += ", \"" + std::string(kKeys[i]) + "\": " + std::to_string(sizes[i]);
  return config + "}";
}

constexpr Rename kMeta[] = {
    {"tok_embeddings", "embed_tokens"}, {"attention_norm", "attn.before"}, {"ffn_norm", "mlp.before"},
    {"attention.w", "attn."},           {"feed_forward.w1", "mlp.gate"},   {"feed_forward.w2", "mlp.down"},
    {"feed_forward.w3", "mlp.up"},
};

Model stories() {
  const std::filesystem::path checkpoint = test_data() / kFolder / "stories260K.bin";
  const std::string config = config_of(checkpoint);
  const Result<Plan> plan = read_plan(std::as_bytes(std::span(config)), "stories260K");
  EXPECT_TRUE(plan && plan->known);
  if (!plan) return {};
  Model model{.plan = *plan, .weights = read_weights(checkpoint, {{kMeta}})};
  for (LayerPlan& layer : model.plan.stacks[0].layers) {
    std::get<Rope>(layer.rotate.at(0).scheme).pairing = Pairing::interleaved;
  }
  return model;
}

// A tokenizer of llama2.c: the longest piece, int32; then for each token its score, f32, its length, int32, its bytes.
// A token that stands for one byte is written as "<0x0A>".
std::vector<std::string> pieces() {
  const std::string file = text_of(test_data() / kFolder / "tok512.bin");
  std::vector<std::string> pieces;
  for (std::size_t at = 4; at + 8 <= file.size();) {
    std::int32_t length = 0;
    std::memcpy(&length, &file[at + 4], sizeof length);
    std::string piece = file.substr(at + 8, static_cast<std::size_t>(length));
    if (piece.size() == 6 && piece.starts_with("<0x")) {
      piece = std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
    }
    pieces.push_back(std::move(piece));
    at += 8 + static_cast<std::size_t>(length);
  }
  return pieces;
}

// The first block of the page that holds a command with temperature 0 and what it printed.
std::string published_story() {
  const std::string page = text_of(test_data() / kFolder / "stories260K.md");
  const std::size_t begin = page.find('\n', page.find("-t 0.0\n")) + 1;
  return page.substr(begin, page.find("\n```", begin) - begin);
}

// Tells on, greedily, for as long as the text is that of `story`; llama2.c drops the space that begins a text.
std::string told(const Model& model, const Setting& setting, const std::string& story, std::int64_t steps = kSteps) {
  Network network(model, setting);
  const std::vector<std::string> words = pieces();
  std::string text;
  std::int64_t token = kBegin;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Numbers logits = network.read_out(network.hidden(0, {.x = network.embedded(0, std::span(&token, 1))}));
    const bool first = token == kBegin;
    token = std::max_element(logits.begin(), logits.end()) - logits.begin();
    if (token == kBegin) break;
    const std::string& word = words.at(static_cast<std::size_t>(token));
    text += first && word.starts_with(' ') ? word.substr(1) : word;
    if (!story.starts_with(text)) break;
  }
  return text;
}

TEST(Stories, AreToldToTheirEnd) {
  POSENC_NEED_DATA(kFolder);
  const std::string story = published_story();
  ASSERT_GT(story.size(), 500U);
  EXPECT_EQ(told(stories(), {}, story), story);
  EXPECT_EQ(told(stories(), {.way = Isa::automatic}, story), story);
}

// A wrong rotation goes astray much sooner.
TEST(Stories, BeginOnEveryInstructionSetAndAnywhere) {
  POSENC_NEED_DATA(kFolder);
  const Model model = stories();
  const std::string story = published_story();
  for (const Isa isa : every_isa("stories260K")) {
    for (const std::int64_t start : {0, 100000}) {
      const std::string text =
          told(model, {.way = isa, .shift = {.queries = start, .keys = start}}, story, kFirstSteps);
      EXPECT_TRUE(story.starts_with(text)) << name(isa) << " from " << start << ": " << text;
      EXPECT_GT(text.size(), story.size() / 4);
    }
  }
}

// Token by token there is nothing ahead, and a mask cannot be wrong.
TEST(Stories, GoAstrayWithAWrongRotation) {
  POSENC_NEED_DATA(kFolder);
  const std::string story = published_story();
  std::vector<Spoil> all = spoils(stories());
  std::erase_if(all, [](const Spoil& spoil) { return spoil.name == "mask rotated"; });
  EXPECT_GE(all.size(), 4U);
  for (const Spoil& spoil : all) {
    EXPECT_NE(told(spoil.model, {.way = Isa::automatic, .shift = spoil.shift}, story), story) << spoil.name;
  }
}

}  // namespace
}  // namespace posenc::test::stories_test
