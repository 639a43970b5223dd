// Biases against numbers that other projects publish (golden/ of the test data): ALiBi of KerasHub and fairseq2, T5's
// buckets of Praxis, T5's table and WavLM's gates of ONNX Runtime; and ALiBi as transformers builds it for BLOOM and
// Falcon.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/matrix.h"
#include "math/config_to_rope.h"
#include "posenc/input.h"
#include "posenc/scores.h"
#include "support/test_data.h"
#include "support/tolerances.h"

namespace posenc::test::bias_golden_test {
namespace {

constexpr const char* kKerasHub = "golden/alibi/keras_hub_alibi_bias_test.json";
constexpr const char* kFairseq2 = "golden/alibi/fairseq2_attention_bias_test.json";
constexpr const char* kPraxis = "golden/t5_relative/praxis_relative_bias_bucket.json";
constexpr const char* kOnnxRuntime = "golden/onnxruntime/relative_attention_bias_test.json";

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Its float32 numbers in eight digits: slope times key, less the last key.
TEST(PublishedBiases, OfKerasHubsAlibi) {
  POSENC_NEED_DATA(kKerasHub);
  const auto document = read_json(test_data() / kKerasHub);
  for (const Json& one : document["cases"].GetArray()) {
    const std::int64_t heads = *integer(one, "num_heads");
    const Alibi scheme{.heads = heads, .max_bias = *number(one, "alibi_bias_max")};
    const Attended got = biases(layer_with(scheme, heads), *integer(one, "query_length"), *integer(one, "key_length"));
    auto score = got.scores.values.begin();
    for (const Json& of_head : one["expected_bias_[1,heads,q,k]"][0].GetArray()) {
      for (const Json& row : of_head.GetArray()) {
        for (const double expected : numbers(row)) {
          EXPECT_NEAR(*score++, expected, printed_decimals(8) + 2 * std::abs(expected) * kFloatRounding)
              << one["name"].GetString();
        }
      }
    }
    EXPECT_EQ(score, got.scores.values.end());
  }
}

// "-inf" stands for what is not seen.
double published(const Json& value) { return value.IsString() ? -HUGE_VAL : value.GetDouble(); }

// [queries, keys] of head h, in five decimals.
void expect_rows(const Attended& got, std::int64_t h, const Json& rows) {
  ASSERT_EQ(rows.Size(), got.scores.shape[1]);
  for (std::int64_t i = 0; i < got.scores.shape[1]; ++i) {
    const Json& row = rows[static_cast<rapidjson::SizeType>(i)];
    ASSERT_EQ(row.Size(), got.scores.shape[2]);
    for (std::int64_t j = 0; j < got.scores.shape[2]; ++j) {
      const double expected = published(row[static_cast<rapidjson::SizeType>(j)]);
      if (std::isinf(expected)) {
        EXPECT_EQ(got.score(h, i, j), expected) << h << " " << i << " " << j;
      } else {
        EXPECT_NEAR(got.score(h, i, j), expected, printed_decimals(5)) << h << " " << i << " " << j;
      }
    }
  }
}

// Causal masks without a bias, the last query with the last key, of which the second has a window of 2; then slope
// times key under a causal mask.
TEST(PublishedBiases, OfFairseq2sMasksAndAlibi) {
  POSENC_NEED_DATA(kFairseq2);
  const auto document = read_json(test_data() / kFairseq2);
  const Json& cases = document["cases"];
  ASSERT_EQ(cases.Size(), 3U);
  LayerPlan causal = bare_layer();
  causal.mask.kind = MaskKind::causal;
  expect_rows(biases(causal, 4, 6), 0, cases[0]["expected_bias"]);
  causal.mask.window = Window{.past = 1};
  expect_rows(biases(causal, 4, 6), 0, cases[1]["expected_bias"]);

  LayerPlan alibi = layer_with(Alibi{.heads = 4, .form = AlibiForm::column}, 4);
  alibi.mask.kind = MaskKind::causal;
  const Attended got = biases(alibi, 4, 4);
  for (std::int64_t h = 0; h < 4; ++h) {
    expect_rows(got, h, cases[2]["expected_bias"][static_cast<rapidjson::SizeType>(h)]);
  }
}

// relative_position is key less query.
TEST(PublishedBiases, OfPraxisBuckets) {
  POSENC_NEED_DATA(kPraxis);
  const auto document = read_json(test_data() / kPraxis);
  for (const Json& one : document["cases"].GetArray()) {
    const T5Bias scheme{.buckets = *integer(one, "num_buckets"),
                        .max_distance = *integer(one, "max_distance"),
                        .bidirectional = one["bidirectional"].GetBool()};
    for (rapidjson::SizeType n = 0; n < one["bucket"].Size(); ++n) {
      const std::int64_t relative_position = one["relative_position"][n].GetInt64();
      EXPECT_EQ(t5_bucket(scheme, -relative_position), one["bucket"][n].GetInt64()) << relative_position;
    }
  }
}

std::vector<const Json*> cases_of_suite(const rapidjson::Document& document, const std::string& suite) {
  std::vector<const Json*> out;
  for (const Json& one : document["cases"].GetArray()) {
    if (one["suite"].GetString() == suite) out.push_back(&one);
  }
  return out;
}

// Tables are stored [heads, buckets] there.
TEST(PublishedBiases, OfOnnxRuntimesTable) {
  POSENC_NEED_DATA(kOnnxRuntime);
  const auto document = read_json(test_data() / kOnnxRuntime);
  const auto cases = cases_of_suite(document, "RelativePositionBiasTest");
  EXPECT_EQ(cases.size(), 4U);
  for (const Json* one : cases) {
    const Json& scalars = (*one)["scalars"];
    const std::int64_t heads = *integer(scalars, "num_heads");
    const std::int64_t tokens = *integer(scalars, "seq_len");
    const T5Bias scheme{.buckets = *integer(scalars, "num_buckets"),
                        .max_distance = *integer(scalars, "max_distance"),
                        .bidirectional = *integer(scalars, "is_bidirectional") != 0};
    const Matrix table =
        transposed(Matrix{.rows = heads, .columns = scheme.buckets, .values = numbers((*one)["arrays"]["bias_table"])});
    const Tensor stored{table.values, {scheme.buckets, heads}};
    const Attended got = biases(layer_with(scheme, heads), tokens, tokens, {.score = {T5Weights{stored}}});
    EXPECT_EQ(got.scores.values, numbers((*one)["arrays"]["output_data"])) << (*one)["name"].GetString();
  }
}

// GatedRelativePositionBias: WavLM's gate of each token and head, and rel_pos [heads, tokens, tokens] that it
// multiplies.
struct Gated {
  explicit Gated(const Json& one)
      : batch(*integer(one["scalars"], "batch_size")),
        heads(*integer(one["scalars"], "num_heads")),
        tokens(*integer(one["scalars"], "seq_len")),
        head_size(*integer(one["scalars"], "head_size")),
        outputs(*integer(one["scalars"], "D")),
        query(numbers(one["arrays"]["query_layer"])),
        query_bias(numbers(one["arrays"]["query_bias"])),
        weight(numbers(one["arrays"]["weight"])),
        bias(numbers(one["arrays"]["bias"])),
        eco_a(numbers(one["arrays"]["eco_a"])),
        rel_pos(numbers(one["arrays"]["rel_pos"])),
        output(numbers(one["arrays"]["output"])) {}

  std::int64_t batch, heads, tokens, head_size, outputs;
  std::vector<double> query, query_bias, weight, bias, eco_a, rel_pos, output;

  struct Gate {
    double value;
    double error;  // of theirs, in float
  };

  // The head's slice of the layer's input through a linear map; two sums of half of its outputs each; sigmoids a and b;
  // a (b eco_a - 1) + 2.
  Gate gate(std::int64_t b, std::int64_t i, std::int64_t h) const {
    double sums[] = {0.0, 0.0};
    double sizes[] = {0.0, 0.0};
    for (std::int64_t o = 0; o < outputs; ++o) {
      const std::size_t half = o < outputs / 2 ? 0 : 1;
      sums[half] += bias[index(o)];
      sizes[half] += std::abs(bias[index(o)]);
      for (std::int64_t c = 0; c < head_size; ++c) {
        const std::int64_t channel = h * head_size + c;
        const double x = query[index((b * tokens + i) * heads * head_size + channel)] + query_bias[index(channel)];
        sums[half] += x * weight[index(c * outputs + o)];
        sizes[half] += std::abs(x * weight[index(c * outputs + o)]);
      }
    }
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    const auto additions = static_cast<double>(head_size + outputs / 2 + 2);
    return {.value = sigmoid(sums[0]) * (sigmoid(sums[1]) * eco_a[index(h)] - 1) + 2,
            .error = float_gate_error(additions, std::max(sizes[0], sizes[1]))};
  }
};

// A query has a distance of its own to every key: with a bucket for each, the table holds that query's row.
TEST(PublishedBiases, OfOnnxRuntimesGates) {
  POSENC_NEED_DATA(kOnnxRuntime);
  const auto document = read_json(test_data() / kOnnxRuntime);
  const auto cases = cases_of_suite(document, "GatedRelativePositionBiasTest");
  EXPECT_EQ(cases.size(), 4U);
  for (const Json* json : cases) {
    const Gated one(*json);
    const T5Bias scheme{
        .buckets = 4 * one.tokens, .max_distance = 4 * one.tokens, .bidirectional = true, .gated = true};
    auto expected = one.output.begin();
    for (std::int64_t b = 0; b < one.batch; ++b) {
      for (std::int64_t h = 0; h < one.heads; ++h) {
        for (std::int64_t i = 0; i < one.tokens; ++i) {
          Tensor table = zeros({scheme.buckets, 1});
          for (std::int64_t j = 0; j < one.tokens; ++j) {
            table.values[index(t5_bucket(scheme, i - j))] = one.rel_pos[index((h * one.tokens + i) * one.tokens + j)];
          }
          const Gated::Gate gate = one.gate(b, i, h);
          const Tensor row_gate = tensor_of({1, 1}, {gate.value});
          const std::vector<std::int64_t> position{i};
          const Attended got = biases(layer_with(scheme), 1, one.tokens, {.score = {T5Weights{table}}},
                                      {.q_positions = position, .row_gate = row_gate});
          for (const double bias : got.scores.values) {
            const double rel_pos = std::abs(bias / gate.value);
            EXPECT_NEAR(bias, *expected, rel_pos * gate.error + std::abs(bias) * 2 * kFloatRounding)
                << (*json)["name"].GetString() << " " << b << h << i;
            ++expected;
          }
        }
      }
    }
    EXPECT_EQ(expected, one.output.end());
  }
}

// transformers' build_alibi_tensor for BLOOM: keys count what the mask lets through, from 0; those that it hides are 0.
// Two tokens of padding at the left.
TEST(PublishedBiases, OfBloomBehindPadding) {
  const std::vector<std::uint8_t> mask{0, 0, 1, 1, 1};
  std::vector<std::int64_t> positions = places(mask, 0, 0);
  const Tensor seen = tensor_of({1, 5}, {0, 0, 1, 1, 1});
  const LayerInputs inputs{.q_positions = positions, .k_positions = positions, .attn_mask = seen};
  LayerPlan layer = layer_with(Alibi{.heads = 2, .form = AlibiForm::column}, 2);  // slopes 1/16 and 1/256
  layer.mask.kind = MaskKind::causal;
  const Attended got = biases(layer, 5, 5, {}, inputs);
  for (std::int64_t h = 0; h < 2; ++h) {
    const double slope = h == 0 ? 1.0 / 16 : 1.0 / 256;
    EXPECT_EQ(got.score(h, 4, 1), -HUGE_VAL);
    EXPECT_EQ(got.score(h, 4, 2), 0);
    EXPECT_EQ(got.score(h, 4, 3), slope);
    EXPECT_EQ(got.score(h, 4, 4), 2 * slope);
  }
}

// A float cut to 16 bits, to nearest, ties to even, as torch does it.
float bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U);
}

// Falcon: slopes in float by powers of a base, both factors in bfloat16, and their product; (q k + alibi) times the
// scale.
TEST(PublishedBiases, OfFalconInBfloat16) {
  constexpr double kScale = 0.125;
  for (const std::int64_t heads : {8, 12}) {
    std::vector<float> slopes;
    const float base = std::exp2(-std::exp2(-(std::log2(8.0F) - 3)));
    for (int power = 1; power <= 8; ++power) slopes.push_back(std::pow(base, static_cast<float>(power)));
    const float extra_base = std::exp2(-std::exp2(-(std::log2(16.0F) - 3)));
    for (int power = 1; std::ssize(slopes) < heads; power += 2) {
      slopes.push_back(std::pow(extra_base, static_cast<float>(power)));
    }
    LayerPlan layer = layer_with(Alibi{.heads = heads, .scaled = true, .form = AlibiForm::column_bfloat16}, heads);
    layer.softmax_scale = kScale;
    const std::vector<std::int64_t> keys{0, 1, 2, 3, 5, 100, 255, 256, 257, 258, 259, 511, 513, 1023, 2047, 100001};
    const std::vector<std::int64_t> query{100001};
    const Attended got = biases(layer, 1, std::ssize(keys), {}, {.q_positions = query, .k_positions = keys});
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t j = 0; j < std::ssize(keys); ++j) {
        const float alibi = bfloat16(bfloat16(slopes[index(h)]) * bfloat16(static_cast<float>(keys[index(j)])));
        EXPECT_EQ(got.score(h, 0, j), static_cast<double>(alibi) * kScale) << h << " " << keys[index(j)];
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::bias_golden_test
