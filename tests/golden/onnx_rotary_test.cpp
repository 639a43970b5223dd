// RotaryEmbedding of ONNX, opset 23: the eight cases of its backend node tests, and the five of onnxruntime's test of
// the operator that came before it.
//
// 4-D input is [batch, heads, tokens, head_dim], 3-D [batch, tokens, heads * head_dim]. Without position_ids the caches
// are [batch, tokens, pairs], a row for each token. rotary_embedding_dim channels at the front rotate; 0 stands for
// all.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "golden/published_rotation.h"
#include "math/config_to_rope.h"
#include "posenc/tensor_file.h"
#include "support/test_data.h"

namespace posenc::test::onnx_rotary_test {
namespace {

constexpr const char* kOnnx = "golden/onnx_node";
constexpr const char* kOnnxRuntime = "golden/onnxruntime/rotary_embedding_op_test.json";

struct Array {
  std::vector<std::int64_t> shape;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
};

Array read_array(const std::filesystem::path& path) {
  const auto data = read_tensor(path);
  EXPECT_TRUE(data) << (data ? "" : data.error().message());
  if (!data) return {};
  Array array{.shape = {data->shape().begin(), data->shape().end()}};
  if (data->type() == ElementType::i64) {
    array.integers.resize(data->bytes().size() / sizeof(std::int64_t));
    std::memcpy(array.integers.data(), data->bytes().data(), data->bytes().size());
  } else {
    EXPECT_EQ(data->type(), ElementType::f32) << path;
    array.floats.resize(data->bytes().size() / sizeof(float));
    std::memcpy(array.floats.data(), data->bytes().data(), data->bytes().size());
  }
  return array;
}

std::vector<std::int64_t> counted(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < count; ++i) positions.push_back(first + i);
  return positions;
}

PublishedRotation onnx_case(const std::filesystem::path& folder) {
  const auto document = read_json(folder / "case.json");
  const Json& node = document["nodes"][0];
  const Json& attributes = node["attributes"];
  const Array input = read_array(folder / "input_0.npy");
  const Array cos = read_array(folder / "input_1.npy");
  PublishedRotation one{
      .name = folder.filename().string(),
      .layout = {.pairing = integer(attributes, "interleaved").value_or(0) != 0 ? Pairing::interleaved : Pairing::half},
      .cos = cos.floats,
      .sin = read_array(folder / "input_2.npy").floats,
      .x = input.floats,
      .expected = read_array(folder / "output_0.npy").floats,
      .batch = input.shape.at(0),
      .heads_first = input.shape.size() == 4};
  one.tokens = input.shape.at(one.heads_first ? 2 : 1);
  one.heads = one.heads_first ? input.shape.at(1) : *integer(attributes, "num_heads");
  one.layout.head_dim = one.heads_first ? input.shape.at(3) : input.shape.at(2) / one.heads;
  const std::int64_t rotary_dim = integer(attributes, "rotary_embedding_dim").value_or(0);
  one.layout.dim = rotary_dim == 0 ? one.layout.head_dim : rotary_dim;
  one.positions =
      node["inputs"].Size() == 4 ? read_array(folder / "input_3.npy").integers : counted(0, one.batch * one.tokens);
  return one;
}

TEST(OnnxRotary, EightNodeTestsOfOpset23) {
  POSENC_NEED_DATA(kOnnx);
  ErrorRatio ratio("ONNX RotaryEmbedding");
  const std::vector<Isa> isas = every_isa("ONNX RotaryEmbedding");
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / kOnnx)) {
    if (!entry.path().filename().string().starts_with("test_rotary_embedding")) continue;
    compare_everywhere(onnx_case(entry.path()), isas, ratio);
    ++cases;
  }
  EXPECT_EQ(cases, 8);
  ratio.expect();
}

std::vector<float> floats(const Json& array) {
  std::vector<float> result;
  for (const double value : numbers(array)) result.push_back(static_cast<float>(value));
  return result;
}

// One position stands for the first of each sequence; else there is one for each token.
PublishedRotation onnx_runtime_case(const Json& one) {
  const Json& sizes = one["scalars"];
  const Json& arrays = one["arrays"];
  const std::int64_t head_dim = *integer(sizes, "head_size");
  PublishedRotation rotation{
      .name = one["name"].GetString(),
      .layout = {.pairing = *integer(sizes, "interleaved") != 0 ? Pairing::interleaved : Pairing::half,
                 .head_dim = head_dim,
                 .dim = integer(sizes, "rotary_embedding_dim").value_or(head_dim)},
      .cos = floats(arrays["cos_cache"]),
      .sin = floats(arrays["sin_cache"]),
      .x = floats(arrays["input_data"]),
      .expected = floats(arrays["output_data"]),
      .batch = *integer(sizes, "batch_size"),
      .tokens = *integer(sizes, "sequence_length"),
      .heads = *integer(sizes, "num_heads"),
      .printed = printed_decimals(4)};
  for (const double position : numbers(arrays["position_ids"])) {
    rotation.positions.push_back(static_cast<std::int64_t>(position));
  }
  if (rotation.positions.size() == 1) {
    const std::vector<std::int64_t> sequence = counted(rotation.positions[0], rotation.tokens);
    rotation.positions.clear();
    for (std::int64_t b = 0; b < rotation.batch; ++b) {
      rotation.positions.insert(rotation.positions.end(), sequence.begin(), sequence.end());
    }
  }
  return rotation;
}

TEST(OnnxRotary, FiveCasesOfOnnxRuntime) {
  POSENC_NEED_DATA(kOnnxRuntime);
  const auto document = read_json(test_data() / kOnnxRuntime);
  ASSERT_EQ(document["cases"].Size(), 5U);
  ErrorRatio ratio("onnxruntime RotaryEmbedding");
  const std::vector<Isa> isas = every_isa("onnxruntime RotaryEmbedding");
  for (const Json& one : document["cases"].GetArray()) compare_everywhere(onnx_runtime_case(one), isas, ratio);
  ratio.expect();
}

}  // namespace
}  // namespace posenc::test::onnx_rotary_test
