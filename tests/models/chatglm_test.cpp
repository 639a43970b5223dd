// One layer of ChatGLM-6B, ChatGLM2-6B, ChatGLM3-6B and GLM-4-9B at small sizes, random weights, and the hidden states
// that the models' own code gives for three tokens and then for one more, twice.
//
// Versions 2 to 4 rotate the first half of each head, neighbours paired. ChatGLM-6B has two coordinates: the first half
// of a head rotates by the token's place in the text, where all that is generated stands at the last, the second half
// by its place in what is generated. read_plan does not know that model; its two rotations are written here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/arithmetic.h"
#include "models/conformance.h"
#include "models/network.h"
#include "posenc/read_plan.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"
#include "support/model_tolerances.h"
#include "support/test_data.h"

namespace posenc::test::chatglm_test {
namespace {

constexpr std::int64_t kHidden = 32;
constexpr std::int64_t kVocab = 5;
constexpr std::int64_t kPrompt = 3;
constexpr std::int64_t kTokens = kPrompt + 2;

class RawNumbers {
 public:
  explicit RawNumbers(const std::string& name) {
    std::ifstream in(test_data() / "golden/chatglm_cpp" / name, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  template <typename Number>
  std::vector<Number> take(std::int64_t count) {
    std::vector<Number> numbers(static_cast<std::size_t>(count));
    if (bytes_.size() - at_ < numbers.size() * sizeof(Number)) {
      ADD_FAILURE() << "the file ends after " << bytes_.size() << " bytes";
      return numbers;
    }
    std::memcpy(numbers.data(), bytes_.data() + at_, numbers.size() * sizeof(Number));
    at_ += numbers.size() * sizeof(Number);
    return numbers;
  }
  Tensor weight(std::int64_t rows, std::int64_t columns = 1) {
    const std::vector<float> values = take<float>(rows * columns);
    return {{values.begin(), values.end()}, {rows, columns}};
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

struct Answer {
  std::vector<std::int64_t> tokens;
  std::vector<float> hidden;
};

std::vector<Answer> answers(RawNumbers& raw) {
  std::vector<Answer> all;
  for (const std::int64_t count : {kPrompt, std::int64_t{1}, std::int64_t{1}}) {
    const auto tokens = raw.take<std::int32_t>(count);
    all.push_back({{tokens.begin(), tokens.end()}, raw.take<float>(count * kHidden)});
  }
  EXPECT_TRUE(raw.at_end());
  return all;
}

struct Glm {
  Model model;
  std::vector<Answer> answers;
};

Glm read_later(const std::string& name, double epsilon) {
  constexpr std::int64_t kWide = 48;
  constexpr std::int64_t kKeys = 8;
  constexpr std::string_view kConfig = R"({"model_type": "chatglm", "num_layers": 1, "hidden_size": 32,
    "num_attention_heads": 8, "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 4,
    "ffn_hidden_size": 48, "seq_length": 3, "padded_vocab_size": 5, "rmsnorm": true, "original_rope": true})";
  const Result<Plan> plan = read_plan(std::as_bytes(std::span(kConfig)), name);
  EXPECT_TRUE(plan && plan->known) << name;
  RawNumbers raw(name);
  Glm glm{{.plan = plan ? *plan : Plan{}, .wiring = {.epsilon = epsilon}}, {}};
  Weights& weights = glm.model.weights;
  weights["embed_tokens"] = raw.weight(kVocab, kHidden);
  weights["layers.0.attn.before"] = raw.weight(kHidden);
  weights["layers.0.attn.qkv"] = raw.weight(kHidden + 2 * kKeys, kHidden);
  weights["layers.0.attn.qkv.bias"] = raw.weight(kHidden + 2 * kKeys);
  weights["layers.0.attn.o"] = raw.weight(kHidden, kHidden);
  weights["layers.0.mlp.before"] = raw.weight(kHidden);
  weights["layers.0.mlp.gate"] = raw.weight(kWide, kHidden);
  weights["layers.0.mlp.up"] = raw.weight(kWide, kHidden);
  weights["layers.0.mlp.down"] = raw.weight(kHidden, kWide);
  weights["norm"] = raw.weight(kHidden);
  glm.answers = answers(raw);
  return glm;
}

// The first half of a head rotates by the first coordinate, the second half by the second.
LayerPlan with_two_coordinates() {
  const auto half_of_head = [](std::int32_t axis) {
    return Rotate{.heads = 8,
                  .scheme = Rope{.pairing = Pairing::half,
                                 .head_dim = 4,
                                 .first_channel = 2 * axis,
                                 .dim = 2,
                                 .axes = {.names = {"text", "generated"}, .of_pair = {axis}}}};
  };
  return {.heads = 8,
          .kv_heads = 8,
          .head_dim = 4,
          .value_dim = 4,
          .softmax_scale = 0.5,
          .mask = {.kind = MaskKind::prefix},
          .rotate = {half_of_head(0), half_of_head(1)}};
}

// a = sqrt(2 layers) of DeepNorm, with the 28 layers of the model that this one was cut from.
Glm read_first() {
  RawNumbers raw("glm_model.data");
  Glm glm{{.plan = {.stacks = {{.name = "decoder", .layers = {with_two_coordinates()}}}},
           .wiring = {.centred = true,
                      .activation = Activation::gelu_tanh,
                      .qkv = Packing::groups,
                      .deep_scale = std::sqrt(2.0 * 28),
                      .prefix = kPrompt - 1}},
          {}};
  Weights& weights = glm.model.weights;
  const auto read = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    weights[name] = raw.weight(rows, columns);
    weights[name + ".bias"] = raw.weight(rows);
  };
  weights["embed_tokens"] = raw.weight(kVocab, kHidden);
  read("layers.0.attn.before", kHidden, 1);
  read("layers.0.attn.qkv", 3 * kHidden, kHidden);
  read("layers.0.attn.o", kHidden, kHidden);
  read("layers.0.mlp.before", kHidden, 1);
  read("layers.0.mlp.up", 4 * kHidden, kHidden);
  read("layers.0.mlp.down", kHidden, 4 * kHidden);
  read("norm", kHidden, 1);
  glm.answers = answers(raw);
  return glm;
}

// Coordinates [axes][token]; one axis for models that have one.
using Places = std::vector<Numbers>;
const Places kInOrder{{0, 1, 2, 3, 4}};
// The prompt's last token is the first of what is generated.
const Places kTwo{{0, 1, 1, 1, 1}, {0, 0, 1, 2, 3}};

// A published run of prompt and two more tokens, all in float.
void expect_published(const std::string& name, const Glm& glm, const Places& places, const char* mistake,
                      const Setting& wrong, const Places& wrong_places) {
  const auto run = [&](const Setting& setting, const Places& given) {
    Network network(glm.model, setting);
    Numbers all;
    std::size_t first = 0;
    for (const Answer& answer : glm.answers) {
      Numbers coordinates;
      for (const Numbers& axis : given) append(coordinates, part_of(axis, first, answer.tokens.size()));
      append(all, network.hidden(0, {.x = network.embedded(0, answer.tokens), .coordinates = coordinates}));
      first += answer.tokens.size();
    }
    return all;
  };
  Numbers theirs;
  for (const Answer& answer : glm.answers) theirs.insert(theirs.end(), answer.hidden.begin(), answer.hidden.end());
  const Numbers ours = run({}, places);
  Roundings floats{.norms = 24, .sums = 24, .angles = 24, .scores = 24, .softmax = 24};
  std::vector<Numbers> errors;
  for (std::uint64_t draw = 0; draw < kRoundingDraws; ++draw) {
    floats.seed = draw;
    errors.push_back(sum(run({.roundings = floats}, places), ours, -1.0));
  }
  const double bound = rms_bound(errors);
  ErrorRatio ratio("hidden states of " + name);
  ratio.add(rms_difference(ours, theirs), bound, "reference");
  for (const Isa isa : every_isa(name)) {
    ratio.add(rms_difference(run({.way = isa}, places), theirs), bound, posenc::name(isa));
  }
  ratio.expect();
  const double off = rms_difference(run(wrong, wrong_places), theirs);
  std::printf("[  wrong   ] %s, %s: %.0f times the bound\n", name.c_str(), mistake, off / bound);
  EXPECT_GT(off, kSpoiledOverBound * bound) << name;
}

TEST(ChatGlm, LaterVersionsRotateHalfOfEachHead) {
  POSENC_NEED_DATA("golden/chatglm_cpp");
  // GLM-4-9B's norms have their own epsilon.
  for (const auto& [name, epsilon] : {std::pair("glm2", 1e-5), {"glm3", 1e-5}, {"glm4", 1.5625e-7}}) {
    const Glm glm = read_later(std::string(name) + "_model.data", epsilon);
    expect_published(name, glm, kInOrder, "keys alone shifted", {.shift = {.keys = 1}}, kInOrder);
  }
}

TEST(ChatGlm, FirstVersionHasTwoCoordinates) {
  POSENC_NEED_DATA("golden/chatglm_cpp");
  expect_published("glm", read_first(), kTwo, "one coordinate for both halves", {}, {kInOrder[0], kInOrder[0]});
}

}  // namespace
}  // namespace posenc::test::chatglm_test
