// Attention and FlexAttention of ONNX: its backend node tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "attend/onnx_case.h"
#include "support/test_data.h"
#include "support/tolerances.h"

namespace posenc::test::onnx_attention_test {
namespace {

constexpr const char* kCases = "golden/onnx_node";

// Equal infinities count as no error.
void compare(const Tensor& got, const Tensor& expected, const std::string& where, ErrorRatio& ratio,
             const auto& bound_of) {
  ASSERT_EQ(got.shape, expected.shape) << where;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double error = got.values[i] == expected.values[i] ? 0.0 : std::abs(got.values[i] - expected.values[i]);
    ratio.add(error, bound_of(got.values[i]), where);
  }
}

Attended computed(const OnnxCase& one) {
  return attended(one.layer, {.q = one.q, .k = one.k, .v = one.v, .inputs = one.inputs(), .stage = one.stage});
}

double longest(const Tensor& x) {
  double most = 0.0;
  const auto channels = static_cast<std::size_t>(x.shape.back());
  for (std::size_t row = 0; row < x.values.size(); row += channels) {
    double square = 0.0;
    for (std::size_t c = 0; c < channels; ++c) square += x.values[row + c] * x.values[row + c];
    most = std::max(most, std::sqrt(square));
  }
  return most;
}

double largest(const Tensor& x) {
  double most = 0.0;
  for (const double value : x.values) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  return most;
}

AttentionSizes sizes(const OnnxCase& one, double bias) {
  const auto [least, most] = std::minmax_element(one.v.values.begin(), one.v.values.end());
  return {.head_dim = static_cast<double>(one.layer.head_dim),
          .keys = static_cast<double>(one.k.shape[2]),
          .score = one.layer.softmax_scale * longest(one.q) * longest(one.k),
          .bias = bias,
          .value = largest(one.v),
          .spread = *most - *least};
}

std::vector<std::filesystem::path> cases(const std::string& prefix) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / kCases)) {
    if (entry.path().filename().string().starts_with(prefix)) out.push_back(entry.path());
  }
  return out;
}

// Of other operators there is none.
TEST(OnnxAttention, KnowsEveryCaseOfTheFolder) {
  POSENC_NEED_DATA(kCases);
  EXPECT_EQ(cases("test_attention_").size(), 76U);
  EXPECT_EQ(cases("test_flexattention").size(), 11U);
  EXPECT_EQ(cases("").size(), 76U + 11U + cases("test_rotary_embedding").size());
}

// NumPy's sqrt of the scale is a float64, so ONNX's reference computed them in double whatever their dtype.
TEST(OnnxAttention, EveryCaseOfAttention) {
  POSENC_NEED_DATA(kCases);
  ErrorRatio ratio("ONNX Attention");
  for (const auto& folder : cases("test_attention_")) {
    const OnnxCase one = read_onnx_case(folder);
    if (!one.refusal.empty()) {
      ADD_FAILURE() << one.name << " has what is not known here: " << one.refusal;
      continue;
    }
    const Attended got = computed(one);
    const double in_double = rounded_attention_bound(DType::f64, sizes(one, one.bias ? largest(*one.bias) : 0.0));
    const auto bound = [&](double y) { return rounding_error(one.dtype, y) + in_double; };
    compare(got.out, one.expected, one.name, ratio, bound);
    if (one.scores) compare(got.scores, *one.scores, one.name + ", scores", ratio, bound);
  }
  ratio.expect();
}

// What the graphs of FlexAttention's cases do, which case.json leaves out: see the operator's test generator.
using Change = void (*)(OnnxCase&, LayerWeights&);

const std::map<std::string, Change>& graphs() {
  static const Tensor distances = tensor_of({7, 2}, {-3, -3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 3});
  static const std::map<std::string, Change> kGraphs{
      {"test_flexattention_causal_mask", [](OnnxCase& one, LayerWeights&) { one.layer.mask.kind = MaskKind::causal; }},
      {"test_flexattention_soft_cap", [](OnnxCase& one, LayerWeights&) { one.layer.soft_cap = SoftCap{20.0}; }},
      {"test_flexattention_score_mod",
       [](OnnxCase& one, LayerWeights&) {
         one.bias = tensor_of({1, 1}, {0.5});
       }},
      {"test_flexattention_relative_positional",  // adds i - j
       [](OnnxCase& one, LayerWeights& weights) {
         one.layer.score = {ClippedBias{.past = 3, .future = 3}};
         weights.score = {ClippedBiasWeights{distances}};
       }},
  };
  return kGraphs;
}

const std::map<std::string, std::string>& out_of_scope() {
  static const std::map<std::string, std::string> kReasons{
      {"test_flexattention_prob_mod", "changes the weights after the softmax, which no position scheme does"},
  };
  return kReasons;
}

TEST(OnnxAttention, EveryCaseOfFlexAttention) {
  POSENC_NEED_DATA(kCases);
  std::map<DType, ErrorRatio> ratios{{DType::f16, ErrorRatio("ONNX FlexAttention, f16")},
                                     {DType::f32, ErrorRatio("ONNX FlexAttention, f32")},
                                     {DType::f64, ErrorRatio("ONNX FlexAttention, f64")}};
  int compared = 0;
  for (const auto& folder : cases("test_flexattention")) {
    OnnxCase one = read_onnx_case(folder);
    if (out_of_scope().contains(one.name)) continue;
    LayerWeights weights;
    if (one.has_graph) {
      const auto graph = graphs().find(one.name);
      if (graph == graphs().end()) one.refusal = "a graph";
      if (graph != graphs().end()) graph->second(one, weights);
    }
    if (!one.refusal.empty()) {
      ADD_FAILURE() << one.name << " has what is not known here: " << one.refusal;
      continue;
    }
    Call call{.q = one.q, .k = one.k, .v = one.v, .weights = weights, .inputs = one.inputs()};
    const Attended got = attended(one.layer, call);
    const double bound =
        rounded_attention_bound(one.dtype, sizes(one, one.layer.score.empty() ? 1.0 : 3.0));  // biases: see graphs()
    compare(got.out, one.expected, one.name, ratios.at(one.dtype), [&](double) { return bound; });
    ++compared;
  }
  EXPECT_EQ(compared, 11 - std::ssize(out_of_scope()));
  for (const auto& [dtype, ratio] : ratios) ratio.expect();
}

}  // namespace
}  // namespace posenc::test::onnx_attention_test
