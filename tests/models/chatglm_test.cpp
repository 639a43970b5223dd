// One layer of ChatGLM-6B, ChatGLM2-6B, ChatGLM3-6B and GLM-4-9B at small sizes, random weights, and the hidden states
// that the models' own code gives for three tokens and then for one more, twice.
//
// Versions 2 to 4 turn the first half of each head, neighbours paired. ChatGLM-6B has two coordinates: the first half
// of a head turns by the token's place in the text, where all that is generated stands at the last, the second half by
// its place in what is generated. read_plan does not know that model; its two rotations are written here.
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

#include "models/model_files.h"
#include "support/every_isa.h"
#include "support/tolerances.h"

namespace posenc::test {
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
  Weight weight(std::int64_t rows, std::int64_t columns = 1) {
    const std::vector<float> values = take<float>(rows * columns);
    return {{values.begin(), values.end()}, rows};
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

// Rows of one matrix, or of its bias, that belong to q, k or v: `width` of them in every `stride`, from `first` on.
Weight rows_of(const Weight& all, std::int64_t first, std::int64_t width, std::int64_t stride) {
  const std::int64_t columns = static_cast<std::int64_t>(all.values.size()) / all.rows;
  Weight part;
  for (std::int64_t group = first; group < all.rows; group += stride) {
    const auto begin = all.values.begin() + group * columns;
    part.values.insert(part.values.end(), begin, begin + width * columns);
    part.rows += width;
  }
  return part;
}

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

struct Published {
  Model model;
  std::vector<Answer> answers;
};

Published read_later(const std::string& name, double epsilon) {
  constexpr std::int64_t kWide = 48;
  constexpr std::int64_t kKeys = 8;
  constexpr std::string_view kConfig = R"({"model_type": "chatglm", "num_layers": 1, "hidden_size": 32,
    "num_attention_heads": 8, "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 4,
    "ffn_hidden_size": 48, "seq_length": 3, "padded_vocab_size": 5, "rmsnorm": true, "original_rope": true})";
  RawNumbers raw(name);
  Published published{{.plan = known_plan(read_plan(std::as_bytes(std::span(kConfig)), name)), .epsilon = epsilon}, {}};
  Weights& weights = published.model.weights;
  weights["embed_tokens"] = raw.weight(kVocab, kHidden);
  weights["layers.0.input_layernorm"] = raw.weight(kHidden);
  for (const std::string ending : {"", ".bias"}) {
    const Weight qkv = raw.weight(kHidden + 2 * kKeys, ending.empty() ? kHidden : 1);
    weights["layers.0.self_attn.q_proj" + ending] = rows_of(qkv, 0, kHidden, qkv.rows);
    weights["layers.0.self_attn.k_proj" + ending] = rows_of(qkv, kHidden, kKeys, qkv.rows);
    weights["layers.0.self_attn.v_proj" + ending] = rows_of(qkv, kHidden + kKeys, kKeys, qkv.rows);
  }
  weights["layers.0.self_attn.o_proj"] = raw.weight(kHidden, kHidden);
  weights["layers.0.post_attention_layernorm"] = raw.weight(kHidden);
  weights["layers.0.mlp.gate_proj"] = raw.weight(kWide, kHidden);
  weights["layers.0.mlp.up_proj"] = raw.weight(kWide, kHidden);
  weights["layers.0.mlp.down_proj"] = raw.weight(kHidden, kWide);
  weights["norm"] = raw.weight(kHidden);
  published.answers = answers(raw);
  return published;
}

// a = sqrt(2 layers) of DeepNorm, with the 28 layers of the model that this one was cut from.
Published read_first() {
  RawNumbers raw("glm_model.data");
  const auto half_of_head = [](std::int64_t first_channel) {
    return Rotate{.heads = 8,
                  .scheme = Rope{.pairing = Pairing::half, .head_dim = 4, .first_channel = first_channel, .dim = 2}};
  };
  const LayerPlan layer{.heads = 8,
                        .kv_heads = 8,
                        .head_dim = 4,
                        .value_dim = 4,
                        .logit_scale = 0.5,
                        .rotate = {half_of_head(0), half_of_head(2)}};
  Published published{{.plan = {.stacks = {{.name = "decoder", .layers = {layer}}}},
                       .wiring = Wiring::deep,
                       .centred = true,
                       .deep_scale = std::sqrt(2.0 * 28),
                       .prefix = kPrompt - 1},
                      {}};
  Weights& weights = published.model.weights;
  const auto read = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    weights[name] = raw.weight(rows, columns);
    weights[name + ".bias"] = raw.weight(rows);
  };
  weights["embed_tokens"] = raw.weight(kVocab, kHidden);
  read("layers.0.input_layernorm", kHidden, 1);
  for (const std::string ending : {"", ".bias"}) {
    const Weight qkv = raw.weight(3 * kHidden, ending.empty() ? kHidden : 1);  // a head's q, k, v; the next head's
    weights["layers.0.self_attn.q_proj" + ending] = rows_of(qkv, 0, 4, 12);
    weights["layers.0.self_attn.k_proj" + ending] = rows_of(qkv, 4, 4, 12);
    weights["layers.0.self_attn.v_proj" + ending] = rows_of(qkv, 8, 4, 12);
  }
  read("layers.0.self_attn.o_proj", kHidden, kHidden);
  read("layers.0.post_attention_layernorm", kHidden, 1);
  read("layers.0.mlp.up_proj", 4 * kHidden, kHidden);
  read("layers.0.mlp.down_proj", kHidden, 4 * kHidden);
  read("norm", kHidden, 1);
  published.answers = answers(raw);
  return published;
}

// Positions [coordinate][token]: the prompt's last token is the first of what is generated.
constexpr std::int64_t kPlaces[2][kTokens] = {{0, 1, 1, 1, 1}, {0, 0, 1, 2, 3}};

Rotation by_two_places(Way way) {
  return [way](const LayerPlan& layer, std::int64_t first, Numbers& q, Numbers& k) {
    const std::size_t tokens = q.size() / static_cast<std::size_t>(layer.heads * layer.head_dim);
    for (std::size_t coordinate = 0; coordinate < layer.rotate.size(); ++coordinate) {
      const std::span places(&kPlaces[coordinate][first], tokens);
      turn(rope(layer.rotate[coordinate]), way, places, layer.heads, q);
      turn(rope(layer.rotate[coordinate]), way, places, layer.kv_heads, k);
    }
  };
}

// A published run of prompt and two more tokens, all in float.
void expect_published(const std::string& name, const Published& published, const Rotation& exact,
                      const std::vector<Rotation>& rotations, const char* mistake, const Rotation& wrong) {
  const auto run = [&](const Rotation& rotation, std::optional<Roundings> roundings = {}) {
    Decoder decoder(published.model, rotation, roundings);
    Numbers all;
    for (const Answer& answer : published.answers) {
      const Numbers hidden = decoder.hidden(answer.tokens);
      all.insert(all.end(), hidden.begin(), hidden.end());
    }
    return all;
  };
  Numbers theirs;
  for (const Answer& answer : published.answers) {
    theirs.insert(theirs.end(), answer.hidden.begin(), answer.hidden.end());
  }
  const Numbers ours = run(exact);
  double square = 0;
  for (std::uint64_t draw = 0; draw < kLogitDraws; ++draw) {
    square +=
        std::pow(rms_difference(run(exact, Roundings{.norms = 24, .sums = 24, .rotation = 24, .seed = draw}), ours), 2);
  }
  const double bound = kLogitsOverRoundings * std::sqrt(square / kLogitDraws);
  ErrorRatio ratio("hidden states of " + name);
  for (const Rotation& rotation : rotations) ratio.add(rms_difference(run(rotation), theirs), bound, name);
  ratio.expect();
  const double off = rms_difference(run(wrong), theirs);
  std::printf("[  wrong   ] %s, %s: %.0f times the bound\n", name.c_str(), mistake, off / bound);
  EXPECT_GT(off, 100 * bound) << name;
}

TEST(ChatGlm, LaterVersionsTurnHalfOfEachHead) {
  POSENC_NEED_DATA("golden/chatglm_cpp");
  // GLM-4-9B's norms have their own epsilon.
  for (const auto& [name, epsilon] : {std::pair("glm2", 1e-5), {"glm3", 1e-5}, {"glm4", 1.5625e-7}}) {
    const Published published = read_later(std::string(name) + "_model.data", epsilon);
    std::vector<Rotation> rotations{by(kReference)};
    for (const Isa isa : every_isa(name)) rotations.push_back(by(isa));
    expect_published(name, published, by(kReference), rotations, "keys alone shifted", by(Isa::automatic, {.keys = 1}));
  }
}

TEST(ChatGlm, FirstVersionHasTwoCoordinates) {
  POSENC_NEED_DATA("golden/chatglm_cpp");
  std::vector<Rotation> rotations{by_two_places(kReference)};
  for (const Isa isa : every_isa("glm")) rotations.push_back(by_two_places(isa));
  expect_published("glm", read_first(), by_two_places(kReference), rotations, "one coordinate for both halves",
                   by(Isa::automatic));
}

}  // namespace
}  // namespace posenc::test
