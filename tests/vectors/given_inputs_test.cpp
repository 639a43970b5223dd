// make_vectors of a caller's inputs: the same stages and bounds as of drawn ones, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "posenc/error.h"
#include "posenc/read_plan.h"
#include "posenc/vectors.h"

namespace posenc::test {
namespace {

constexpr std::int64_t kGivenTokens = 12;

ConstTensorView dense(const VectorTensor& x) { return tensor(x.values.data(), DType::f64, x.shape); }

// Vectors of positions 0, 1, .. and the plan with that layer, whose heads are theirs.
struct DrawnVectors {
  Plan plan;
  VectorOptions options;
  Vectors golden;
  std::vector<NamedTensor> tables;

  DrawnVectors(const char* preset, const char* stack, std::int64_t layer)
      : plan(preset_plan(preset)), options{.stack = stack, .layer = layer} {
    golden = make_vectors(plan, {.stack = stack, .layer = layer, .tokens = kGivenTokens, .start = 0});
    for (Stack& one : plan.stacks) {
      for (LayerPlan& of : one.layers) {
        if (one.name == stack && of.index == layer && of.kind == golden.layer.kind) of = golden.layer;
      }
    }
    for (const VectorTensor& tensor : golden.tensors) {
      const bool is_own = tensor.name == "q" || tensor.name == "k" || tensor.name == "v";
      if (tensor.is_input && !tensor.is_whole && !is_own) tables.push_back({tensor.name, dense(tensor)});
    }
  }
  VectorInputs inputs() const {
    return {
        .q = dense(*golden.find("q")), .k = dense(*golden.find("k")), .v = dense(*golden.find("v")), .tables = tables};
  }
};

// A caller may give what was drawn: then nothing differs but that positions are not asked for.
TEST(vectors_of_inputs, are_those_of_drawn_ones) {
  for (const char* preset : {"llama-3.1-8b", "gpt-oss-20b", "gemma-2-9b", "t5-base"}) {
    SCOPED_TRACE(preset);
    const DrawnVectors drawn(preset, "decoder", 0);
    const Vectors given = make_vectors(drawn.plan, drawn.options, drawn.inputs());
    EXPECT_EQ(given.left_out, drawn.golden.left_out);
    EXPECT_EQ(given.bounds, drawn.golden.bounds);
    std::int64_t results = 0;
    for (const VectorTensor& tensor : drawn.golden.tensors) {
      if (tensor.is_input) continue;
      ++results;
      ASSERT_NE(given.find(tensor.name), nullptr) << tensor.name;
      EXPECT_EQ(*given.find(tensor.name), tensor) << tensor.name;
    }
    EXPECT_GE(results, 3);
    EXPECT_TRUE(check_port(given, std::vector<NamedTensor>{{"out", dense(*drawn.golden.find("out"))}}).passes);
  }
}

TEST(vectors_of_inputs, of_other_inputs_are_others) {
  const DrawnVectors drawn("llama-3.1-8b", "decoder", 0);
  VectorTensor q = *drawn.golden.find("q");
  q.values[q.values.size() - 5] += 4.0;  // of the last token, which sees all
  VectorInputs inputs = drawn.inputs();
  inputs.q = dense(q);
  const Vectors given = make_vectors(drawn.plan, drawn.options, inputs);
  EXPECT_NE(given.find("q_rotated")->values, drawn.golden.find("q_rotated")->values);
  EXPECT_FALSE(check_port(given, std::vector<NamedTensor>{{"out", dense(*drawn.golden.find("out"))}}).passes);
}

// Positions are the rotation's, and tokens stay where they are for masks.
TEST(vectors_of_inputs, stand_at_the_positions_that_are_given) {
  const DrawnVectors drawn("gpt-oss-20b", "decoder", 0);  // a window
  VectorInputs inputs = drawn.inputs();
  std::vector<std::int64_t> positions;
  for (std::int64_t t = 0; t < kGivenTokens; ++t) positions.push_back(1000 * t);
  inputs.positions = positions;
  const Vectors given = make_vectors(drawn.plan, drawn.options, inputs);
  EXPECT_EQ(given.find("mask")->values, drawn.golden.find("mask")->values);
  EXPECT_NE(given.find("q_rotated")->values, drawn.golden.find("q_rotated")->values);
  VectorOptions from = drawn.options;
  from.start = 5;
  const Vectors later = make_vectors(drawn.plan, from, drawn.inputs());
  EXPECT_EQ(later.find("positions")->values.front(), 5.0);
}

TEST(vectors_of_inputs, may_be_of_a_rotation_alone) {
  const DrawnVectors drawn("gpt-oss-20b", "decoder", 0);  // with sinks, which are not asked for
  VectorInputs inputs;
  inputs.k = dense(*drawn.golden.find("k"));
  const Vectors given = make_vectors(drawn.plan, drawn.options, inputs);
  EXPECT_EQ(given.find("k_rotated")->values, drawn.golden.find("k_rotated")->values);
  EXPECT_EQ(given.find("out"), nullptr);
  EXPECT_EQ(given.left_out.back(), "scores, mask, out: no values are given");
}

TEST(vectors_of_inputs, that_do_not_fit_are_refused) {
  const DrawnVectors drawn("gpt-oss-20b", "decoder", 0);
  const auto refused = [&](auto spoil, const char* words) {
    VectorInputs inputs = drawn.inputs();
    spoil(inputs);
    try {
      (void)make_vectors(drawn.plan, drawn.options, inputs);
      ADD_FAILURE() << "no error: " << words;
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find(words), std::string_view::npos) << error.what();
    }
  };
  refused([](VectorInputs& x) { x.q = x.k = x.v = {}; }, "inputs.q must be given, or k but is omitted");
  refused([](VectorInputs& x) { x.k = {}; }, "inputs.v must have q and k beside it but is alone");
  refused([](VectorInputs& x) { x.k.shape[0] = 5; }, "inputs.k must have shape");
  refused([](VectorInputs& x) { x.q.shape[1] = 3; }, "inputs.q must have shape");
  refused([](VectorInputs& x) { x.v.rank = 9; }, "inputs.v must have shape");
  refused([](VectorInputs& x) { x.q.shape[0] = x.k.shape[0] = x.v.shape[0] = 0; }, "inputs.q must have a token");
  refused([](VectorInputs& x) { x.q.data = nullptr; }, "inputs.q must point to its elements but is null");
  refused([](VectorInputs& x) { x.tables = {}; }, "have the input sinks");
  static constexpr std::int64_t kFew[] = {0, 1};
  refused([](VectorInputs& x) { x.positions = kFew; }, "inputs.positions must have 12 elements, 1 for each token");
  static std::vector<std::int64_t> far(kGivenTokens, std::numeric_limits<std::int64_t>::max());
  refused([](VectorInputs& x) { x.positions = far; }, "inputs.positions must be positions but is 9223372036854775807");
  VectorTensor spoilt = *drawn.golden.find("q");
  spoilt.values[3] = std::nan("");
  refused([&](VectorInputs& x) { x.q = dense(spoilt); }, "inputs.q must be finite but is nan at [0, 0, 3]");
  static std::vector<NamedTensor> twice;
  twice = {{"q", dense(*drawn.golden.find("q"))}};
  refused([](VectorInputs& x) { x.tables = twice; }, "inputs.tables must have names of their own but is with \"q\"");
}

}  // namespace
}  // namespace posenc::test
