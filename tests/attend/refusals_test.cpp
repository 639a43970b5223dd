// What the reference and the kernels refuse of any layer: its shape, tensors, sequences, positions, masks, rotations.
// Of score and value schemes: scheme_refusals_test.cpp. Of the kernels alone: fused_call_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "attend/spoilt_call.h"
#include "support/all_schemes.h"

namespace posenc::test::refusals_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Call = SpoiltCall;

void as_it_is(Call&) {}

TEST(Refusals, OfLayers) {
  expect_refused({
      {"a layer",
       as_it_is,
       {{"[attend] layer.kind must be attention or cross_attention but is another",
         [](Call& c) { c.layer.kind = LayerKind::linear_attention; }},
        {"[attend] layer.kind must be attention or cross_attention but is deformable_attention",
         [](Call& c) { c.layer.kind = LayerKind::deformable_attention; }},
        {"[attend] layer.heads must be at least 1 but is 0", [](Call& c) { c.layer.heads = 0; }},
        {"[attend] layer.kv_heads must divide heads but is 0", [](Call& c) { c.layer.kv_heads = 0; }},
        {"[attend] layer.kv_heads must divide heads but is 3", [](Call& c) { c.layer.kv_heads = 3; }},
        {"[attend] layer.head_dim must be at least 1 but is 0", [](Call& c) { c.layer.head_dim = 0; }},
        {"[attend] layer.value_dim must be at least 1 but is -6", [](Call& c) { c.layer.value_dim = -6; }},
        {"[attend] layer.softmax_scale must be a number that float holds (0, or 1.4e-45 to 3.4e38 either way) but is "
         "inf",
         [](Call& c) { c.layer.softmax_scale = kInfinity; }},
        {"[attend] layer.softmax_scale must be a number that float holds (0, or 1.4e-45 to 3.4e38 either way) but is "
         "1e+300",
         [](Call& c) { c.layer.softmax_scale = 1e300; }},
        {"[attend] layer.soft_cap.cap must be a number that float holds (0, or 1.4e-45 to 3.4e38 either way) but is "
         "1e-320",
         [](Call& c) { c.layer.soft_cap = SoftCap{.cap = 1e-320}; }},
        {"[attend] layer.soft_cap.cap must be a finite number above 0 but is 0",
         [](Call& c) { c.layer.soft_cap = SoftCap{.cap = 0.0}; }},
        {"[attend] layer.mask.kind must be an enumerator, 0 to 3 but is 77",
         [](Call& c) { c.layer.mask.kind = static_cast<MaskKind>(77); }},
        {"[attend] layer.soft_cap.order must be an enumerator, 0 to 1 but is 2",
         [](Call& c) { c.layer.soft_cap = SoftCap{.cap = 1.0, .order = static_cast<SoftCap::Order>(2)}; }},
        {"[attend] layer.qk_norm.order must be an enumerator, 0 to 1 but is 77",
         [](Call& c) { c.layer.qk_norm = QkNorm{.order = static_cast<QkNorm::Order>(77)}; }},
        {"[attend] layer.mask.chunk must be at least 1 but is 0", [](Call& c) { c.layer.mask.chunk = 0; }},
        {"[attend] layer.mask.window.past must be at least 0 but is -3",
         [](Call& c) { c.layer.mask.window = Window{.past = -3}; }},
        {"[attend] layer.mask.window.future must be at least 0 but is -1",
         [](Call& c) { c.layer.mask.window = Window{.future = -1}; }},
        {"[attend] attn_mask must say which keys are visible, since the plan's mask is sparse but is omitted",
         [](Call& c) { c.layer.mask.kind = MaskKind::sparse; }},
        {"[attend] sinks must have shape [4] but is omitted", [](Call& c) { c.layer.sinks = true; }}}},
      {"a layer with sinks",
       [](Call& c) {
         c.layer.sinks = true;
         c.weights.sinks = zeros_of({kHeads});
       },
       {{"[attend] sinks must have shape [4] but is [5]", [](Call& c) { c.weights.sinks.shape[0] = 5; }},
        {"[attend] sinks.data must point to the elements but is null",
         [](Call& c) { c.weights.sinks.data = nullptr; }}}},
  });
}

TEST(Refusals, OfTensors) {
  expect_refused({
      {"tokens of one sequence",
       as_it_is,
       {{"[attend] q must have rank 3 or 4 but is 2", [](Call& c) { c.q.rank = 2; }},
        {"[attend] q must have rank 3 or 4 but is 5", [](Call& c) { c.q.rank = 5; }},
        {"[attend] q.dtype must be f32, f16, bf16 or f64 but is 4", [](Call& c) { c.q.dtype = static_cast<DType>(4); },
         RefusedBy::formulas},
        {"[attend] q.dtype must be f32, f16 or bf16 but is 4", [](Call& c) { c.q.dtype = static_cast<DType>(4); },
         RefusedBy::kernels},
        {"[attend] lse must have shape [4, 4] but is of rank 7", [](Call& c) { c.lse.rank = 7; }},
        {"[attend] lse must have shape [4, 4] but is of rank -1", [](Call& c) { c.lse.rank = -1; }},
        {"[attend] q must have shape [4, 4, 8] but is [4, 3, 8]", [](Call& c) { c.q.shape[1] = 3; }},
        {"[attend] k must have shape [4, 2, 8] but is [4, 4, 8]", [](Call& c) { c.k.shape[1] = 4; }},
        {"[attend] k must have no negative size but is [-1, 2, 8]", [](Call& c) { c.k.shape[0] = -1; }},
        {"[attend] v must have shape [4, 2, 6] but is [4, 2, 8]", [](Call& c) { c.v.shape[2] = 8; }},
        {"[attend] out must have shape [4, 4, 6] but is [4, 4, 8]", [](Call& c) { c.out.shape[2] = 8; }},
        {"[attend] out.data must point to the elements but is null", [](Call& c) { c.out.data = nullptr; }},
        {"[attend] v.rank must be that of q but is 4",
         [](Call& c) {
           c.v = zeros_of({1, kKvHeads, kTokens, kValueDim});
         }},
        {"[attend] out.rank must be that of q but is 4",
         [](Call& c) {
           c.out.rank = 4;
           c.out.shape = {1, kHeads, kTokens, kValueDim};
         }},
        {"[attend] v.shape must have the tokens of k but is 5", [](Call& c) { c.v.shape[0] = 5; }},
        {"[attend] out.shape must have the tokens of q but is 3", [](Call& c) { c.out.shape[0] = 3; }},
        {"[attend] lse must have shape [4, 4] but is [3, 4]", [](Call& c) { c.lse.shape[0] = 3; }},
        {"[attend] out, lse and scores must be f64 but is f32", [](Call& c) { c.lse.dtype = DType::f32; },
         RefusedBy::formulas},
        {"[attend] scores must have shape [4, 4, 4] but is [4, 4]", [](Call& c) { c.scores = c.lse; },
         RefusedBy::formulas}}},
      {"a batch",
       [](Call& c) { c.become_batch(); },
       {{"[attend] k.shape must have the batch of q but is 1", [](Call& c) { c.k.shape[0] = 1; }},
        {"[attend] v.shape must have the batch of q but is 3", [](Call& c) { c.v.shape[0] = 3; }},
        {"[attend] out.shape must have the batch of q but is 1", [](Call& c) { c.out.shape[0] = 1; }},
        {"[attend] v.shape must have the tokens of k but is 6", [](Call& c) { c.v.shape[2] = 3; }},
        {"[attend] out.shape must have the tokens of q but is 2", [](Call& c) { c.out.shape[2] = 1; }},
        {"[attend] lse must have shape [2, 4, 2] but is [2, 4, 3]", [](Call& c) { c.lse.shape[2] = 3; }},
        {"[attend] scores must have shape [2, 4, 2, 2] but is [2, 4, 2]", [](Call& c) { c.scores = c.lse; },
         RefusedBy::formulas},
        {"[attend] cu_seqlens_q must be omitted for rank 4 but is given",
         [](Call& c) {
           static const std::array<std::int32_t, 2> ends{0, 4};
           c.inputs.cu_seqlens_q = c.inputs.cu_seqlens_k = ends;
         }}}},
  });
}

TEST(Refusals, OfPackedSequences) {
  static const std::array<std::int32_t, 3> right{0, 1, 4};
  static const std::array<std::int32_t, 3> from_one{1, 1, 4};
  static const std::array<std::int32_t, 3> too_short{0, 1, 3};
  static const std::array<std::int32_t, 4> falling{0, 3, 1, 4};
  static const std::array<std::int32_t, 4> of_three{0, 1, 3, 4};
  expect_refused({
      {"two sequences",
       [](Call& c) { c.inputs.cu_seqlens_q = c.inputs.cu_seqlens_k = right; },
       {{"[attend] cu_seqlens_k must be as long as cu_seqlens_q but is 0 long",
         [](Call& c) { c.inputs.cu_seqlens_k = {}; }},
        {"[attend] cu_seqlens_q must begin with 0 but is 1", [](Call& c) { c.inputs.cu_seqlens_q = from_one; }},
        {"[attend] cu_seqlens_k must end with the number of rows but is 3",
         [](Call& c) { c.inputs.cu_seqlens_k = too_short; }},
        {"[attend] cu_seqlens_k must ascend but is 1",
         [](Call& c) {
           c.inputs.cu_seqlens_q = of_three;
           c.inputs.cu_seqlens_k = falling;
         }}}},
  });
}

TEST(Refusals, OfWhereTokensStand) {
  static const std::array<std::int64_t, 4> right{3, 0, 2, 9};
  static const std::array<std::int64_t, 4> far{0, 1, 2, (std::int64_t{1} << 53) + 2};
  static const std::array<double, 4> undefined{0, 1, 2, std::numeric_limits<double>::quiet_NaN()};
  static const std::array<std::int32_t, 4> segments{0, 0, 1, 1};
  static const auto three = [](const auto& of) { return std::span(of).first(3); };
  expect_refused({
      {"tokens where the call says",
       [](Call& c) {
         c.inputs.q_positions = c.inputs.k_positions = std::span<const std::int64_t>(right);
         c.inputs.q_order = c.inputs.k_order = right;
       },
       {{"[attend] q_positions must have 4 entries but is 3",
         [](Call& c) { c.inputs.q_positions = std::span<const std::int64_t>(right).first(3); }},
        {"[attend] k_positions must have 4 entries but is 3",
         [](Call& c) { c.inputs.k_positions = std::span<const std::int64_t>(right).first(3); }},
        {"[attend] k_positions must be at most 2^53 either way but is 9007199254740994",
         [](Call& c) { c.inputs.k_positions = std::span<const std::int64_t>(far); }},
        {"[attend] q_positions must be at most 2^53 either way but is from -9007199254740993, 4 of them",
         [](Call& c) { c.inputs.q_positions = PositionRange{-(std::int64_t{1} << 53) - 1}; }},
        {"[attend] k_positions must be at most 2^53 either way but is from 9007199254740990, 4 of them",
         [](Call& c) { c.inputs.k_positions = PositionRange{(std::int64_t{1} << 53) - 2}; }},
        {"[attend] k_positions must be at most 2^53 either way but is from 9223372036854775807, 4 of them",
         [](Call& c) { c.inputs.k_positions = PositionRange{std::numeric_limits<std::int64_t>::max()}; }},
        {"[attend] q_positions must be at most 2^53 either way but is nan",
         [](Call& c) { c.inputs.q_positions = std::span<const double>(undefined); }},
        {"[attend] q_order must have one entry for each of 4 rows but is 3 long",
         [](Call& c) { c.inputs.q_order = three(right); }},
        {"[attend] q_segments must have one entry for each of 4 rows but is 3 long",
         [](Call& c) { c.inputs.q_segments = three(segments); }},
        {"[attend] k_segments must have one entry for each of 4 rows but is 3 long",
         [](Call& c) { c.inputs.k_segments = three(segments); }},
        {"[attend] prefix must be at least 0 but is -1", [](Call& c) { c.inputs.prefix = -1; }}}},
      {"a batch whose sequences stand alike",
       [](Call& c) {
         c.become_batch();
         c.inputs.q_positions = std::span<const std::int64_t>(right).first(2);
       },
       {{"[attend] q_positions must have 4 entries but is 3",
         [](Call& c) { c.inputs.q_positions = std::span<const std::int64_t>(right).first(3); }}}},
  });
}

TEST(Refusals, OfWhatTheLayerHasNoPlaceFor) {
  static const std::array<std::int32_t, 4> segments{0, 0, 1, 1};
  expect_refused({
      {"a layer",
       as_it_is,
       {{"[attend] sinks must be omitted, since the layer has no sinks but is given",
         [](Call& c) { c.weights.sinks = zeros_of({kHeads}); }},
        {"[attend] weights.value must be omitted, since no scheme of the layer's values reads it but is given",
         [](Call& c) {
           c.weights.value.table = zeros_of({3, kValueDim});
         }},
        {"[attend] prefix must be omitted, since the layer's mask has none but is given",
         [](Call& c) { c.inputs.prefix = 1; }},
        {"[attend] q_segments must be omitted, since no term of the layer has weights for segments but is given",
         [](Call& c) { c.inputs.q_segments = segments; }},
        {"[attend] k_segments must be omitted, since no term of the layer has weights for segments but is given",
         [](Call& c) { c.inputs.k_segments = segments; }},
        {"[attend] log_forget must be omitted, since the layer has no forget gate but is given",
         [](Call& c) {
           c.inputs.log_forget = zeros_of({kTokens, kHeads});
         }},
        {"[attend] row_gate must be omitted, since the layer has no bias with a gate for each row but is given",
         [](Call& c) {
           c.inputs.row_gate = zeros_of({kTokens, kHeads});
         }}}},
      {"a layer of T5's bias without gates",
       [](Call& c) {
         c.layer.score = {T5Bias{}};
         c.weights.score = {T5Weights{zeros_of({T5Bias{}.buckets, kHeads})}};
       },
       {{"[attend] row_gate must be omitted, since the layer has no bias with a gate for each row but is given",
         [](Call& c) {
           c.inputs.row_gate = zeros_of({kTokens, kHeads});
         }}}},
  });
}

TEST(Refusals, OfMasksAndBiasesOfTheCall) {
  expect_refused({
      {"a matrix for all heads",
       [](Call& c) {
         c.inputs.attn_mask = zeros_of({kTokens, kTokens});
         c.inputs.bias = zeros_of({kHeads, 1, kTokens});
       },
       {{"[attend] attn_mask must have rank 2 to 4 but is 5", [](Call& c) { c.inputs.attn_mask.rank = 5; }},
        {"[attend] bias.dtype must be f32, f16, bf16 or f64 but is 200",
         [](Call& c) { c.inputs.bias.dtype = static_cast<DType>(200); }},
        {"[attend] attn_mask must have rank 2 to 4 but is 1",
         [](Call& c) { c.inputs.attn_mask = zeros_of({kTokens}); }},
        {"[attend] attn_mask must have 1 or 4 along axis 0 but is 3", [](Call& c) { c.inputs.attn_mask.shape[0] = 3; }},
        {"[attend] bias must have 1 or 4 along axis 0 but is 2", [](Call& c) { c.inputs.bias.shape[0] = 2; }},
        {"[attend] bias must have 1 or 1 along axis 0 but is 2",
         [](Call& c) {
           c.inputs.bias = zeros_of({2, kHeads, 1, kTokens});
         }},
        {"[attend] bias.data must point to the elements but is null", [](Call& c) { c.inputs.bias.data = nullptr; }}}},
  });
}

TEST(Refusals, OfQueryScales) {
  static const std::array<std::int64_t, 4> negative{0, 1, -1, 2};
  const auto scaled = [](const QueryScale& scale) { return [scale](Call& c) { c.layer.query_scale = scale; }; };
  expect_refused({
      {"Llama 4",
       scaled(Llama4Temperature{}),
       {{"[query_scale] attn_scale must be a finite number but is inf",
         scaled(Llama4Temperature{.attn_scale = kInfinity})},
        {"[query_scale] floor_scale must be a finite number above 0 but is 0",
         scaled(Llama4Temperature{.floor_scale = 0.0})},
        {"[query_scale] position must be at least 0 but is -1",
         [](Call& c) { c.inputs.q_positions = std::span<const std::int64_t>(negative); }}}},
      {"Ministral 3",
       scaled(MinistralTemperature{.original_max_position_embeddings = 2}),
       {{"[query_scale] beta must be a finite number but is inf",
         scaled(MinistralTemperature{.beta = kInfinity, .original_max_position_embeddings = 2})},
        {"[query_scale] original_max_position_embeddings must be at least 1 but is 0",
         scaled(MinistralTemperature{})}}},
      {"log n",
       scaled(LogNScale{.seq_length = 2}),
       {{"[query_scale] seq_length must be at least 2 but is 1", scaled(LogNScale{.seq_length = 1})}}},
      {"Beam",
       scaled(BeamTemperature{}),
       {{"[query_scale] exponent must be a finite number but is inf", scaled(BeamTemperature{.exponent = kInfinity})},
        {"[query_scale] length must be a finite number above 0 but is 0", scaled(BeamTemperature{.length = 0.0})}}},
      {"Inkling",
       scaled(InklingTemperature{}),
       {{"[query_scale] alpha must be a finite number but is inf", scaled(InklingTemperature{.alpha = kInfinity})},
        {"[query_scale] floor must be a finite number above 0 but is 0", scaled(InklingTemperature{.floor = 0.0})}}},
  });
}

Rope& rope_of(Call& c) { return std::get<Rope>(c.layer.rotate.front().scheme); }

void add_rotation(Call& c) { c.layer.rotate = {{.heads = kHeads, .scheme = half_rope()}}; }

TEST(Refusals, OfRotations) {
  expect_refused({
      {"a rotation",
       add_rotation,
       {{"[attend] layer.rotate.head_dim must be that of the layer but is 16",
         [](Call& c) { rope_of(c).head_dim = 16; }},
        {"[frequencies] base must be a finite number of at least 1 but is 0", [](Call& c) { rope_of(c).base = 0.0; }},
        {"[frequencies] length must be at least 1 but is 0", [](Call& c) { c.inputs.length = 0; }},
        {"[attend] q_rotated and k_rotated must be yes, since a norm follows the rotation but is no",
         [](Call& c) { c.layer.qk_norm = QkNorm{.order = QkNorm::Order::after}; }}}},
      {"two axes",
       [](Call& c) {
         add_rotation(c);
         static const std::array<std::int64_t, 8> right{0, 1, 2, 3, 4, 5, 6, 7};
         rope_of(c).axes = {.names = {"h", "w"}, .of_pair = {0, 0, 1, 1}};
         c.inputs.q_positions = c.inputs.k_positions = std::span<const std::int64_t>(right);
       },
       {{"[attend] q_positions must have 8 entries but is 4",
         [](Call& c) {
           static const std::array<std::int64_t, 4> short_one{0, 1, 2, 3};
           c.inputs.q_positions = std::span<const std::int64_t>(short_one);
         }}}},
  });
}

TEST(Refusals, OfValuesThatRotate) {
  expect_refused({
      {"a rotation",
       add_rotation,
       {{"[attend] layer.value must have a rotation to apply but is 0",
         [](Call& c) {
           c.layer.rotate.clear();
           c.layer.value = RotatedValues{};
         }},
        {"[attend] layer.value_dim must be head_dim, for rotated values but is 6",
         [](Call& c) { c.layer.value = RotatedValues{}; }}}},
  });
}

TEST(Refusals, OfRegions) {
  const auto within = [](const Regions& regions) { return [regions](Call& c) { c.layer.regions = regions; }; };
  const auto rotated_within = [](const Regions& regions) {
    return [regions](Call& c) {
      add_rotation(c);
      c.layer.regions = regions;
    };
  };
  expect_refused({
      {"SelfExtend",
       rotated_within(SelfExtend{.group = 2, .window = 2}),
       {{"[attend] layer.regions.group must be at least 1 but is 0", within(SelfExtend{.group = 0, .window = 2})},
        {"[attend] layer.regions.window must be at least 0 but is -1", within(SelfExtend{.group = 2, .window = -1})},
        {"[attend] layer.regions must belong to a rotation but is without one",
         [](Call& c) { c.layer.rotate.clear(); }},
        {"[attend] q_rotated and k_rotated must be no, since regions rotate each key in more than one way "
         "but is yes",
         [](Call& c) { c.inputs.k_rotated = true; }}}},
      {"ReRoPE",
       rotated_within(ReRope{.window = 2, .step = 4.0}),
       {{"[attend] layer.regions.window must be at least 0 but is -2", within(ReRope{.window = -2})},
        {"[attend] layer.regions.step must be at least 1 but is 0.5", within(ReRope{.window = 2, .step = 0.5})}}},
      {"dual chunk",
       rotated_within(DualChunk{.chunk = 2, .local = 1, .trained = 3}),
       {{"[attend] layer.regions.chunk must be at least 1 but is 0", within(DualChunk{.chunk = 0})},
        {"[attend] layer.regions.local must be at least 0 but is -1", within(DualChunk{.chunk = 2, .local = -1})},
        {"[attend] layer.regions.trained must be at least 2 but is 1",
         within(DualChunk{.chunk = 2, .local = 1, .trained = 1})}}},
  });
}

}  // namespace
}  // namespace posenc::test::refusals_test
