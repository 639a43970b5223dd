// Real GGUF files: each against the config.json of the same model, and all of them read or refused clearly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "plan/gguf_reading.h"
#include "support/test_data.h"

namespace posenc::test::gguf_files_test {
namespace {

using Facts = std::map<std::string, std::string>;

std::string scheme_text(const LayerPlan& layer) {
  if (layer.rotate.empty()) return "none";
  const Rope& rotated = rope(layer.rotate.front());
  return fmt::format("{}+{} base {} {}", rotated.first_channel, rotated.dim, rotated.base, describe(rotated.scaling));
}

// What a plan of equal layers says, by name.
Facts facts(const Plan& plan) {
  if (plan.stacks.size() != 1 || plan.stacks[0].layers.empty()) return {{"stacks", std::to_string(plan.stacks.size())}};
  const Stack& stack = plan.stacks[0];
  const LayerPlan& layer = stack.layers.front();
  EXPECT_EQ(layer_runs(stack).size(), 1u);
  Facts facts{{"known", plan.known ? "yes" : "no"},
              {"length", std::to_string(plan.trained_length.value_or(-1))},
              {"stack", stack.name},
              {"layers", std::to_string(stack.layers.size())},
              {"heads", fmt::format("{}/{}", layer.heads, layer.kv_heads)},
              {"channels", fmt::format("{}/{}", layer.head_dim, layer.value_dim)},
              {"rotation", scheme_text(layer)},
              {"mask", std::string(name(layer.mask.kind))},
              {"window", layer.mask.window ? std::to_string(layer.mask.window->past) : "none"},
              {"scale", fmt::format("{:.12g}", layer.softmax_scale)},
              {"norm", layer.qk_norm ? "yes" : "no"},
              {"scores", std::to_string(layer.score.size())},
              {"input", stack.input.empty() ? "none" : "other"}};
  if (!layer.rotate.empty()) facts["pairing"] = name(rope(layer.rotate.front()).pairing);
  if (!layer.score.empty()) {
    const auto* alibi = std::get_if<Alibi>(&layer.score.front());
    facts["scores"] = alibi == nullptr ? "other" : fmt::format("alibi {} x {}", alibi->heads, alibi->max_bias);
  }
  if (!stack.input.empty()) {
    const auto* learned = std::get_if<LearnedInput>(&stack.input.front());
    if (learned != nullptr) facts["input"] = fmt::format("learned {}+{}", learned->positions, learned->offset);
  }
  return facts;
}

// "pairing interleaved, half" of each fact that differs.
std::vector<std::string> differences(const Facts& a, const Facts& b) {
  std::vector<std::string> out;
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    if (other == b.end()) out.push_back(key + " " + value + ", absent");
    if (other != b.end() && other->second != value) out.push_back(key + " " + value + ", " + other->second);
  }
  return out;
}

struct Pair {
  std::string name;
  std::string gguf;
  std::string config;
  Facts expected;                    // of the GGUF file, worked out from its metadata by hand
  std::vector<std::string> differs;  // the file's fact, then the config's, and no other
};

// GoogleTest would print the bytes, and with them those of short strings that nobody has written.
void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.name; }

Facts common(Facts own) {
  Facts all{{"known", "yes"}, {"stack", "decoder"}, {"mask", "causal"}, {"window", "none"},
            {"norm", "no"},   {"scores", "0"},      {"input", "none"}};
  for (auto& [key, value] : own) all[key] = value;
  return all;
}

// How they differ where they should: the Llama line's weights were permuted (pairing); a vocabulary has no tensors,
// which alone say whether q and k are normed and frequencies divided (known); Phi-3's file has no window, and the
// config was shortened to a layer (PROVENANCE: edited).
const Pair kPairs[] = {
    {"llama",
     "gguf/ggml-vocab-llama-spm.gguf",
     "configs/llama__llama-2-7b-hf.json",
     common({{"known", "no"},
             {"length", "4096"},
             {"layers", "32"},
             {"heads", "32/32"},
             {"channels", "128/128"},
             {"pairing", "interleaved"},
             {"rotation", "0+128 base 10000 none"},
             {"scale", "0.0883883476483"}}),
     {"known no, yes", "pairing interleaved, half"}},
    {"stablelm",
     "gguf/ggml-vocab-stablelm.gguf",
     "configs/stablelm__3b-4e1t.json",
     common({{"known", "no"},
             {"length", "4096"},
             {"layers", "32"},
             {"heads", "32/32"},
             {"channels", "80/80"},
             {"pairing", "half"},
             {"rotation", "0+20 base 10000 none"},
             {"scale", "0.111803398875"}}),
     {"known no, yes"}},
    {"gpt2",
     "gguf/ggml-vocab-gpt-2.gguf",
     "configs/gpt2__gpt2.json",
     common({{"length", "1024"},
             {"layers", "12"},
             {"heads", "12/12"},
             {"channels", "64/64"},
             {"rotation", "none"},
             {"scale", "0.125"},
             {"input", "learned 1024+0"}}),
     {}},
    {"mpt",
     "gguf/ggml-vocab-mpt.gguf",
     "configs/mpt__7b.json",
     common({{"known", "no"},
             {"length", "2048"},
             {"layers", "32"},
             {"heads", "32/32"},
             {"channels", "128/128"},
             {"rotation", "none"},
             {"scale", "0.0883883476483"},
             {"scores", "alibi 32 x 8"}}),
     {"known no, yes"}},
    {"phi3",
     "gguf/ggml-vocab-phi-3.gguf",
     "configs/phi3__phi-3-mini-4k.json",
     common({{"known", "no"},
             {"length", "4096"},
             {"layers", "32"},
             {"heads", "32/32"},
             {"channels", "96/96"},
             {"pairing", "half"},
             {"rotation", "0+96 base 10000 none"},
             {"scale", "0.102062072616"}}),
     {"known no, yes", "layers 32, 1", "window none, 2047"}},
    {"tiny_llama",
     "gguf/neural_api_tiny_llama_f32.gguf",
     "weights/tiny_safetensors/neural_api/tiny_llama_config.json",
     common({{"length", "16"},
             {"layers", "2"},
             {"heads", "2/1"},
             {"channels", "4/4"},
             {"pairing", "interleaved"},
             {"rotation", "0+4 base 10000 none"},
             {"scale", "0.5"}}),
     {"pairing interleaved, half"}},
};

class GgufPair : public testing::TestWithParam<Pair> {};

TEST_P(GgufPair, SaysWhatItsMetadataSay) {
  POSENC_NEED_DATA(GetParam().gguf);
  const Result<Plan> plan = read_plan(test_data() / GetParam().gguf);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(facts(*plan), GetParam().expected);
}

TEST_P(GgufPair, DiffersFromItsConfigWhereItShouldAndNowhereElse) {
  POSENC_NEED_DATA(GetParam().gguf);
  POSENC_NEED_DATA(GetParam().config);
  const Result<Plan> plan = read_plan(test_data() / GetParam().gguf);
  const Result<Plan> config = read_plan(test_data() / GetParam().config);
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_TRUE(config) << config.error().message();
  if (!config->known) GTEST_SKIP() << "the config's own plan leaves facts open";
  EXPECT_EQ(differences(facts(*plan), facts(*config)), GetParam().differs);
}

INSTANTIATE_TEST_SUITE_P(Real, GgufPair, testing::ValuesIn(kPairs), [](const auto& row) { return row.param.name; });

TEST(GgufFiles, AreEachReadOrRefusedClearly) {
  POSENC_NEED_DATA("gguf");
  const std::map<std::string, ErrorKind> refused = {{"weight_inspect_empty.gguf", ErrorKind::missing_key},
                                                    {"weight_inspect_tiny.gguf", ErrorKind::truncated}};
  const std::map<std::string, std::string> unknown = {
      {"campello_test_tensors.gguf", "unknown-family"}, {"neural_api_tiny_kquant.gguf", "unknown-family"},
      {"ggml-vocab-deepseek-coder.gguf", "no-tensors"}, {"ggml-vocab-deepseek-llm.gguf", "no-tensors"},
      {"ggml-vocab-llama-spm.gguf", "no-tensors"},      {"ggml-vocab-llama__2023-08-21_gguf-v1.gguf", "no-tensors"},
      {"ggml-vocab-phi-3.gguf", "no-tensors"},          {"ggml-vocab-phi-3__2024-05-04.gguf", "no-tensors"},
      {"ggml-vocab-stablelm.gguf", "no-tensors"},       {"ggml-vocab-mpt.gguf", "no-tensors"}};
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "gguf")) {
    if (entry.path().extension() != ".gguf") continue;
    ++files;
    const std::string file = entry.path().filename().string();
    SCOPED_TRACE(file);
    const Result<Plan> plan = read_plan(entry.path());
    const auto error = refused.find(file);
    EXPECT_EQ(plan.ok(), error == refused.end());
    if (!plan.ok()) {
      EXPECT_EQ(name(plan.error().kind), error == refused.end() ? "" : name(error->second)) << plan.error().message();
      continue;
    }
    const auto why = unknown.find(file);
    EXPECT_EQ(plan->known, why == unknown.end());
    if (why == unknown.end()) continue;
    EXPECT_GT(std::ranges::count(codes(*plan), why->second), 0);
  }
  EXPECT_EQ(files, 24);
}

}  // namespace

}  // namespace posenc::test::gguf_files_test
