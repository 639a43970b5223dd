// Four models of random weights and the logits that their publisher computed with transformers: Llama, Qwen2, Cohere
// (interleaved, normalised q and k) and GLM-4 (interleaved, half of each head).
//
// The wrong rotations that people really write must be seen: pairs swapped, another base, keys one position off. What
// must not be seen is where the text begins: queries and keys shifted together.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "models/model_files.h"
#include "support/every_isa.h"
#include "support/tolerances.h"

namespace posenc::test {
namespace {

const std::string kFolder = "weights/tiny_safetensors/neural_api/tiny_";

struct Published {
  const char* name;
  Wiring wiring;
  bool centred;
  const char* epsilon_key;
  double logit_scale;
  // transformers in double still takes norms and softmax in float; Llama's logits were computed in double throughout.
  int norm_bits;
  // What of the rotation can be seen in the logits. GLM-4's head has one turning pair: its channels are neighbours and
  // halves at once, and its frequency is base^0.
  bool sees_pairing_and_base;
};

void PrintTo(const Published& published, std::ostream* out) { *out << published.name; }

class ModelLogits : public testing::TestWithParam<Published> {
 protected:
  static std::filesystem::path file(const char* ending) { return test_data() / (kFolder + GetParam().name + ending); }

  void SetUp() override {
    POSENC_NEED_DATA(kFolder + GetParam().name + "_logits.json");
    const auto config = read_json(file("_config.json"));
    model_ = {.plan = known_plan(read_plan(file("_config.json"))),
              .weights = read_weights(file(".safetensors")),
              .wiring = GetParam().wiring,
              .epsilon = config[GetParam().epsilon_key].GetDouble(),
              .centred = GetParam().centred,
              .logit_scale = GetParam().logit_scale};
    const auto published = read_json(file("_logits.json"));
    for (const Json& sequence : published["sequences"].GetArray()) {
      std::vector<std::int64_t>& tokens = sequences_.emplace_back();
      for (const Json& token : sequence.GetArray()) tokens.push_back(token.GetInt64());
    }
    for (const Json& sequence : published["logits"].GetArray()) {
      for (const Json& token : sequence.GetArray()) {
        for (const double logit : numbers(token)) published_.push_back(logit);
      }
    }
  }

  Numbers logits(const Model& model, const Rotation& rotation, std::optional<Roundings> roundings = {}) const {
    Numbers all;
    for (const auto& sequence : sequences_) {
      if (roundings) ++roundings->seed;
      const Numbers one = Decoder(model, rotation, roundings).logits(sequence);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  double off(const Model& model, const Rotation& rotation) const {
    return rms_difference(logits(model, rotation), published_);
  }
  // The bound is a multiple of what roundings do to the logits, found by rounding at random.
  double bound(int rotation_bits) const {
    const Numbers exact = logits(model_, by(kReference));
    double square = 0;
    for (std::uint64_t draw = 0; draw < kLogitDraws; ++draw) {
      const Roundings roundings{.norms = GetParam().norm_bits, .rotation = rotation_bits, .seed = 1000 * draw};
      square += std::pow(rms_difference(logits(model_, by(kReference), roundings), exact), 2);
    }
    return kLogitsOverRoundings * std::sqrt(square / kLogitDraws);
  }

  void expect_wrong(const char* what, double difference, double bound) const {
    std::printf("[  wrong   ] %s, %s: %.0f times the bound\n", GetParam().name, what, difference / bound);
    EXPECT_GT(difference, 100 * bound) << what;
  }

  Model model_;
  std::vector<std::vector<std::int64_t>> sequences_;
  Numbers published_;
};

constexpr int kFloatBits = 24;
constexpr int kDoubleBits = 53;

TEST_P(ModelLogits, AreThePublishedOnesOnEveryInstructionSet) {
  ErrorRatio ratio(std::string("logits of ") + GetParam().name);
  ratio.add(off(model_, by(kReference)), bound(kDoubleBits), "reference");
  const double kernel_bound = bound(kFloatBits);
  for (const Isa isa : every_isa(GetParam().name)) ratio.add(off(model_, by(isa)), kernel_bound, name(isa));
  ratio.expect();
}

TEST_P(ModelLogits, DoNotSeeWhereTheTextBegins) {
  const double kernel_bound = bound(kFloatBits);
  ErrorRatio ratio(std::string("shifted queries and keys of ") + GetParam().name);
  for (const std::int64_t start : {1, 1000, -7}) {
    const Shift both{.queries = start, .keys = start};
    ratio.add(off(model_, by(kReference, both)), bound(kDoubleBits), "reference");
    for (const Isa isa : supported_isas()) ratio.add(off(model_, by(isa, both)), kernel_bound, name(isa));
  }
  ratio.expect();
}

TEST_P(ModelLogits, SeeKeysThatAreOnePositionOff) {
  const Shift keys{.keys = 1};
  expect_wrong("keys alone shifted", off(model_, by(kReference, keys)), bound(kDoubleBits));
  const double kernel_bound = bound(kFloatBits);
  for (const Isa isa : supported_isas()) {
    expect_wrong("keys alone shifted", off(model_, by(isa, keys)), kernel_bound);
  }
}

TEST_P(ModelLogits, SeeTheOtherPairingAndAnotherBase) {
  Model swapped = model_;
  swapped.plan = with_pairing_swapped(model_.plan);
  Model doubled = model_;
  doubled.plan = with_base_doubled(model_.plan);
  ASSERT_NE(swapped.plan, model_.plan);
  ASSERT_NE(doubled.plan, model_.plan);
  const double kernel_bound = bound(kFloatBits);
  for (const Isa isa : supported_isas()) {
    if (!GetParam().sees_pairing_and_base) {
      EXPECT_EQ(logits(swapped, by(isa)), logits(model_, by(isa)));
      EXPECT_EQ(logits(doubled, by(isa)), logits(model_, by(isa)));
      continue;
    }
    expect_wrong("pairing swapped", off(swapped, by(isa)), kernel_bound);
    expect_wrong("base doubled", off(doubled, by(isa)), kernel_bound);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tiny, ModelLogits,
    testing::Values(Published{"llama", Wiring::sequential, false, "rms_norm_eps", 1.0, kDoubleBits, true},
                    Published{"qwen2", Wiring::sequential, false, "rms_norm_eps", 1.0, kFloatBits, true},
                    Published{"cohere", Wiring::parallel, true, "layer_norm_eps", 0.0625, kFloatBits, true},
                    Published{"glm4", Wiring::sandwich, false, "rms_norm_eps", 1.0, kFloatBits, false}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace posenc::test
