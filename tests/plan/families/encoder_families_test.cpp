// Encoders and encoder-decoders by small configs of our own: what is added, what is seen, and what each trap does.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "plan/read/plan_reading.h"

namespace posenc::test::encoder_families_test {
namespace {

const Stack& stack_of(const Plan& plan, std::string_view name) {
  static const Stack kNone;
  const auto stack = std::ranges::find(plan.stacks, name, &Stack::name);
  if (stack != plan.stacks.end()) return *stack;
  ADD_FAILURE() << "no stack " << name;
  return kNone;
}

template <typename Scheme>
Scheme input_of(const Stack& stack) {
  const Scheme* scheme = stack.input.size() == 1 ? std::get_if<Scheme>(&stack.input[0]) : nullptr;
  if (scheme != nullptr) return *scheme;
  ADD_FAILURE() << stack.name << " has another input";
  return {};
}

template <typename Term>
Term score_of(const Stack& stack, std::size_t layer = 0) {
  const auto& score = stack.layers.at(layer).score;
  const Term* term = score.size() == 1 ? std::get_if<Term>(&score[0]) : nullptr;
  if (term != nullptr) return *term;
  ADD_FAILURE() << stack.name << " has another score";
  return {};
}

constexpr std::string_view kBert = R"({"model_type": "bert", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 2, "max_position_embeddings": 128, "type_vocab_size": 3, "is_decoder": false,
  "add_cross_attention": false})";
constexpr std::string_view kRoberta = R"({"model_type": "roberta", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 1, "max_position_embeddings": 130, "pad_token_id": 3, "type_vocab_size": 1})";
constexpr std::string_view kLongformer = R"({"model_type": "longformer", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 2, "max_position_embeddings": 130, "pad_token_id": 1, "attention_window": [8, 32],
  "type_vocab_size": 1})";
constexpr std::string_view kMpnet = R"({"model_type": "mpnet", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 1, "max_position_embeddings": 130, "relative_attention_num_buckets": 16})";
constexpr std::string_view kDeberta = R"({"model_type": "deberta-v2", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 1, "max_position_embeddings": 256, "position_biased_input": false, "relative_attention": true,
  "pos_att_type": "p2c|c2p", "max_relative_positions": -1, "position_buckets": 64, "share_att_key": true})";
constexpr std::string_view kEsm = R"({"model_type": "esm", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 1, "max_position_embeddings": 130, "position_embedding_type": "rotary"})";
constexpr std::string_view kModernbert = R"({"model_type": "modernbert", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 5, "max_position_embeddings": 1024, "global_attn_every_n_layers": 2, "local_attention": 64,
  "global_rope_theta": 80000, "local_rope_theta": 5000})";
constexpr std::string_view kNomic =
    R"({"model_type": "nomic_bert", "auto_map": {}, "n_embd": 64, "n_head": 4, "n_layer": 1,
  "n_positions": 512, "rotary_emb_base": 2000, "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": true,
  "rotary_emb_scale_base": 256, "causal": false})";
constexpr std::string_view kXlnet = R"({"model_type": "xlnet", "n_head": 4, "n_layer": 1, "d_head": 16,
  "attn_type": "bi", "clamp_len": 100, "bi_data": true})";
constexpr std::string_view kReformer = R"({"model_type": "reformer", "hidden_size": 64, "num_attention_heads": 2,
  "attention_head_size": 32, "attn_layers": ["lsh", "local"], "max_position_embeddings": 512, "axial_pos_embds": true,
  "axial_pos_shape": [16, 32], "axial_pos_embds_dim": [24, 40], "local_attn_chunk_length": 16,
  "local_num_chunks_before": 2, "local_num_chunks_after": 1, "lsh_attn_chunk_length": 8, "lsh_num_chunks_before": 0,
  "lsh_num_chunks_after": 1, "num_hashes": 2, "num_buckets": 32})";
constexpr std::string_view kT5 = R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"],
  "d_kv": 32, "num_heads": 4, "num_layers": 3, "num_decoder_layers": 2, "relative_attention_num_buckets": 16,
  "relative_attention_max_distance": 64, "n_positions": 512})";
constexpr std::string_view kBart = R"({"model_type": "bart", "d_model": 64, "encoder_layers": 2, "decoder_layers": 1,
  "encoder_attention_heads": 4, "decoder_attention_heads": 8, "max_position_embeddings": 128,
  "scale_embedding": true})";
constexpr std::string_view kWhisper = R"({"model_type": "whisper", "d_model": 64, "encoder_layers": 2,
  "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 2, "max_source_positions": 300,
  "max_target_positions": 100})";
constexpr std::string_view kAll[] = {kBert,  kRoberta, kLongformer, kMpnet, kDeberta, kEsm,    kModernbert,
                                     kNomic, kXlnet,   kReformer,   kT5,    kBart,    kWhisper};

// ---- tables ----

TEST(EncoderFamilies, bert_adds_a_table_and_sees_both_ways) {
  const Plan plan = plan_of(kBert);
  const Stack& encoder = stack_of(plan, "encoder");
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(input_of<LearnedInput>(encoder), (LearnedInput{.positions = 128, .offset = 0, .token_types = 3}));
  ASSERT_EQ(encoder.layers.size(), 2U);
  EXPECT_EQ(encoder.layers[0].mask.kind, MaskKind::bidirectional);
  EXPECT_TRUE(encoder.layers[0].rotate.empty());
  EXPECT_EQ(plan.trained_length, 128);
}

TEST(EncoderFamilies, is_decoder_makes_a_decoder_and_cross_attention_shares_the_index) {
  const Plan plan = plan_of(with(with(kBert, R"("is_decoder": false)", R"("is_decoder": true)"),
                                 R"("add_cross_attention": false)", R"("add_cross_attention": true)"));
  const Stack& decoder = stack_of(plan, "decoder");
  ASSERT_EQ(decoder.layers.size(), 4U);
  EXPECT_EQ(decoder.layers[2].index, 1);
  EXPECT_EQ(decoder.layers[2].mask.kind, MaskKind::causal);
  EXPECT_EQ(decoder.layers[3].index, 1);
  EXPECT_EQ(decoder.layers[3].kind, LayerKind::cross_attention);
  EXPECT_EQ(decoder.layers[3].mask.kind, MaskKind::bidirectional);
}

// The padding index and what lies before it take rows: 130 rows from row 4 on are 126 tokens.
TEST(EncoderFamilies, roberta_counts_rows_and_starts_after_the_padding_index) {
  const Plan plan = plan_of(kRoberta);
  EXPECT_EQ(input_of<LearnedInput>(stack_of(plan, "encoder")),
            (LearnedInput{.positions = 130, .offset = 4, .token_types = 1}));
  EXPECT_EQ(plan.trained_length, 126);
  const FileError error = error_of(with(kRoberta, R"("pad_token_id": 3)", R"("pad_token_id": 129)"));
  EXPECT_EQ(error.kind, ErrorKind::out_of_range);
  EXPECT_EQ(error.path, "/max_position_embeddings");
}

TEST(EncoderFamilies, longformer_has_half_of_each_layers_window_on_each_side) {
  const Stack encoder = stack_of(plan_of(kLongformer), "encoder");
  EXPECT_EQ(encoder.layers.at(0).mask.window, (Window{4, 4}));
  EXPECT_EQ(encoder.layers.at(1).mask.window, (Window{16, 16}));
  EXPECT_EQ(encoder.layers.at(1).mask.kind, MaskKind::sparse);
  // Half of 128 does not reach from end to end of the 128 tokens; half of 256 does.
  const Stack wide = stack_of(plan_of(with(kLongformer, "[8, 32]", "[128, 256]")), "encoder");
  EXPECT_EQ(wide.layers.at(0).mask.window, (Window{64, 64}));
  EXPECT_EQ(wide.layers.at(1).mask.window, std::nullopt);
  const Stack same = stack_of(plan_of(with(kLongformer, "[8, 32]", "8")), "encoder");
  EXPECT_EQ(same.layers.at(1).mask.window, (Window{4, 4}));
  EXPECT_EQ(error_of(with(kLongformer, "[8, 32]", "[8]")).kind, ErrorKind::length_mismatch);
  EXPECT_EQ(error_of(with(kLongformer, "[8, 32]", "[8, 31]")).kind, ErrorKind::out_of_range);
}

// A convolution follows the first layer where its kernel sees a neighbour.
TEST(EncoderFamilies, deberta_v2_with_a_convolution_is_undecided) {
  const auto with_kernel = [](std::string_view size) {
    return plan_of(
        with(kDeberta, R"("hidden_size")", R"("conv_kernel_size": )" + std::string(size) + R"(, "hidden_size")"));
  };
  EXPECT_FALSE(with_kernel("3").known);
  EXPECT_EQ(codes(with_kernel("3")), std::vector<std::string>{"undecided"});
  for (std::string_view none : {"0", "1", "null"}) EXPECT_TRUE(with_kernel(none).known) << none;
}

TEST(EncoderFamilies, nomic_may_stretch_its_base) {
  const auto ntk = [](std::string_view keys) {
    const Plan plan = plan_of(with(with(kNomic, R"("rotary_emb_scale_base": 256)", R"("rotary_emb_scale_base": null)"),
                                   R"("causal")", std::string(keys) + R"(, "causal")"));
    return rope_of(plan).scaling;
  };
  EXPECT_EQ(ntk(R"("rotary_scaling_factor": 4, "max_trained_positions": 256)"),
            Scaling(DynamicScaling{.factor = 4, .max_position_embeddings = 256}));
  EXPECT_EQ(ntk(R"("rotary_scaling_factor": 4)"),
            Scaling(DynamicScaling{.factor = 4, .max_position_embeddings = 2048}));
  EXPECT_EQ(ntk(R"("rotary_scaling_factor": null, "max_trained_positions": 256)"), Scaling{});
  EXPECT_EQ(error_of(with(kNomic, R"("causal")", R"("rotary_scaling_factor": -4, "causal")")).path,
            "/rotary_scaling_factor");
}

TEST(EncoderFamilies, mpnet_starts_at_row_2_and_has_t5_buckets) {
  const Plan plan = plan_of(with(kMpnet, R"("hidden_size")", R"("pad_token_id": 5, "hidden_size")"));
  const Stack& encoder = stack_of(plan, "encoder");
  EXPECT_EQ(input_of<LearnedInput>(encoder).offset, 2);
  EXPECT_EQ(score_of<T5Bias>(encoder), (T5Bias{.buckets = 16, .max_distance = 128, .bidirectional = true}));
  EXPECT_DOUBLE_EQ(encoder.layers[0].softmax_scale, 0.25);
}

TEST(EncoderFamilies, distilbert_has_a_table_unless_it_says_sines) {
  constexpr std::string_view kConfig = R"({"model_type": "distilbert", "sinusoidal_pos_embds": true})";
  const Stack sines = stack_of(plan_of(kConfig), "encoder");
  EXPECT_EQ(input_of<SinusoidalInput>(sines).convention, SinusoidConvention::paper);
  const Stack table = stack_of(plan_of(with(kConfig, "true", "false")), "encoder");
  EXPECT_EQ(input_of<LearnedInput>(table).positions, 512);
}

// ---- scores ----

TEST(EncoderFamilies, deberta_shares_its_scale_between_terms) {
  const Plan plan = plan_of(kDeberta);
  const Stack& encoder = stack_of(plan, "encoder");
  EXPECT_TRUE(encoder.input.empty());
  EXPECT_EQ(score_of<Deberta>(encoder), (Deberta{.buckets = 64, .max_distance = 256, .shared_projection = true}));
  EXPECT_DOUBLE_EQ(encoder.layers[0].softmax_scale, 1 / std::sqrt(3 * 16.0));
  const Stack one = stack_of(plan_of(with(kDeberta, R"("p2c|c2p")", R"(["c2p"])")), "encoder");
  EXPECT_FALSE(score_of<Deberta>(one).position_to_content);
  EXPECT_DOUBLE_EQ(one.layers[0].softmax_scale, 1 / std::sqrt(2 * 16.0));
  const Stack biased = stack_of(plan_of(with(kDeberta, "false", "true")), "encoder");
  EXPECT_EQ(input_of<LearnedInput>(biased).positions, 256);
}

// v1 counts every name, v2 the two that it knows; neither has p2p.
TEST(EncoderFamilies, deberta_leaves_p2p_out) {
  const std::string v2 = with(kDeberta, R"("p2c|c2p")", R"(["p2c", "c2p", "p2p"])");
  EXPECT_DOUBLE_EQ(stack_of(plan_of(v2), "encoder").layers[0].softmax_scale, 1 / std::sqrt(3 * 16.0));
  EXPECT_EQ(codes(plan_of(v2)), std::vector<std::string>{"misleading-key"});
  const Stack v1 = stack_of(plan_of(with(v2, "deberta-v2", "deberta")), "encoder");
  EXPECT_DOUBLE_EQ(v1.layers[0].softmax_scale, 1 / std::sqrt(4 * 16.0));
  EXPECT_EQ(score_of<Deberta>(v1).buckets, 0);
  EXPECT_EQ(error_of(with(kDeberta, "p2c|c2p", "p2c|c3p")).kind, ErrorKind::out_of_range);
}

TEST(EncoderFamilies, a_logarithm_without_room_is_an_error) {
  EXPECT_EQ(error_of(with(kDeberta, R"("position_buckets": 64)", R"("position_buckets": 510)")).kind,
            ErrorKind::out_of_range);
  EXPECT_EQ(error_of(with(kMpnet, "16", "3")).kind, ErrorKind::out_of_range);
  EXPECT_EQ(
      error_of(with(kT5, R"("relative_attention_max_distance": 64)", R"("relative_attention_max_distance": 4)")).path,
      "/relative_attention_max_distance");
}

TEST(EncoderFamilies, xlnet_needs_no_length) {
  const Plan plan = plan_of(kXlnet);
  EXPECT_EQ(plan.trained_length, std::nullopt);
  EXPECT_EQ(score_of<XlNet>(stack_of(plan, "encoder")), (XlNet{.clamp_length = 100, .bidirectional_data = true}));
  const Plan causal = plan_of(with(kXlnet, R"("bi",)", R"("uni",)"));
  EXPECT_EQ(stack_of(causal, "decoder").layers.at(0).mask.kind, MaskKind::causal);
  const Plan even = plan_of(with(kXlnet, R"("bi",)", R"("uni", "same_length": true,)"));
  EXPECT_EQ(stack_of(even, "decoder").layers.at(0).mask.kind, MaskKind::sparse);
  EXPECT_EQ(error_of(with(kXlnet, R"("bi",)", R"("both",)")).kind, ErrorKind::out_of_range);
}

// ---- rotations ----

TEST(EncoderFamilies, esm_rotates_or_has_a_table) {
  const Plan rotating = plan_of(kEsm);
  EXPECT_TRUE(stack_of(rotating, "encoder").input.empty());
  EXPECT_EQ(rope_of(rotating).dim, 16);
  EXPECT_EQ(rotating.trained_length, 130);
  const Plan table = plan_of(with(kEsm, R"("rotary")", R"("absolute", "pad_token_id": 1)"));
  EXPECT_EQ(input_of<LearnedInput>(stack_of(table, "encoder")), (LearnedInput{.positions = 130, .offset = 2}));
  EXPECT_TRUE(layer_of(table, 0).rotate.empty());
  EXPECT_EQ(table.trained_length, 128);
  EXPECT_EQ(error_of(with(kEsm, R"("rotary")", R"("relative_key")")).kind, ErrorKind::out_of_range);
}

TEST(EncoderFamilies, modernbert_has_two_bases_and_a_window_to_both_sides) {
  const Plan plan = plan_of(kModernbert);
  for (std::size_t i = 0; i < 5; ++i) {
    const bool full = i % 2 == 0;
    EXPECT_EQ(rope_of(plan, i).base, full ? 80000 : 5000) << i;
    EXPECT_EQ(layer_of(plan, i).mask.window, full ? std::nullopt : std::optional(Window{32, 32})) << i;
  }
  const Plan shorter = plan_of(with(kModernbert, "1024", "60"));
  EXPECT_EQ(layer_of(shorter, 1).mask.window, (Window{32, 32}));
  const Plan shortest = plan_of(with(kModernbert, "1024", "33"));
  EXPECT_EQ(layer_of(shortest, 1).mask.window, std::nullopt);
  const Plan scaled = plan_of(
      with(kModernbert, R"("hidden_size")", R"("rope_scaling": {"rope_type": "linear", "factor": 2}, "hidden_size")"));
  EXPECT_EQ(std::get<LinearScaling>(rope_of(scaled, 1).scaling).factor, 2);
}

// The class has a rope_type in each of its dictionaries, which an old name of it does not replace.
TEST(EncoderFamilies, the_old_name_of_a_rule_has_no_effect_in_modernbert) {
  const Plan plan = plan_of(
      with(kModernbert, R"("hidden_size")", R"("rope_scaling": {"type": "linear", "factor": 2}, "hidden_size")"));
  EXPECT_TRUE(plan.known);
  EXPECT_TRUE(rope_of(plan, 1).scaling == Scaling());
  EXPECT_EQ(codes(plan), (std::vector<std::string>{"misleading-key", "unknown-rope-key"}));
}

TEST(EncoderFamilies, modernbert_s_decoder_sees_the_half_behind) {
  const Plan plan = plan_of(with(kModernbert, R"("modernbert")", R"("modernbert-decoder")"));
  EXPECT_EQ(plan.stacks.at(0).name, "decoder");
  for (std::size_t i = 0; i < 5; ++i) {
    const bool full = i % 2 == 0;
    EXPECT_EQ(rope_of(plan, i).base, full ? 80000 : 5000) << i;
    EXPECT_EQ(layer_of(plan, i).mask.kind, MaskKind::causal) << i;
    EXPECT_EQ(layer_of(plan, i).mask.window, full ? std::nullopt : std::optional(Window{31, 0})) << i;
  }
}

TEST(EncoderFamilies, nomic_bert_has_xpos_by_key) {
  const Plan plan = plan_of(kNomic);
  const Rotate rotate = layer_of(plan, 0).rotate.at(0);
  ASSERT_TRUE(std::holds_alternative<XPos>(rotate.scheme));
  EXPECT_EQ(std::get<XPos>(rotate.scheme).scale_base, 256);
  EXPECT_EQ(rope(rotate).base, 2000);
  EXPECT_EQ(rope(rotate).dim, 8);
  EXPECT_EQ(rope(rotate).pairing, Pairing::interleaved);
  const Plan plain = plan_of(with(kNomic, "256", "null"));
  EXPECT_TRUE(std::holds_alternative<Rope>(layer_of(plain, 0).rotate.at(0).scheme));
  const Plan table = plan_of(with(kNomic, "0.5", "0.0"));
  EXPECT_EQ(input_of<LearnedInput>(stack_of(table, "encoder")).positions, 512);
  EXPECT_EQ(error_of(with(kNomic, "256", "-1")).kind, ErrorKind::out_of_range);
}

// ---- Reformer ----

TEST(EncoderFamilies, reformer_counts_its_list_and_normalises_keys_of_hashed_layers) {
  const Plan plan = plan_of(kReformer);
  const Stack& encoder = stack_of(plan, "encoder");
  ASSERT_EQ(encoder.layers.size(), 2U);
  EXPECT_EQ(input_of<AxialInput>(encoder),
            (AxialInput{.shape = {16, 32}, .combine = AxialCombine::concatenate, .dims = {24, 40}}));
  EXPECT_EQ(encoder.layers[0].mask.detail,
            "32 LSH buckets, 2 hashes, chunks of 8 and the one after, a token sees itself only when alone");
  EXPECT_EQ(encoder.layers[1].mask.detail, "own chunk of 16 and the 2 before and the one after");
  ASSERT_TRUE(encoder.layers[0].qk_norm);
  EXPECT_EQ(encoder.layers[0].qk_norm->of, QkNorm::Of::keys);
  EXPECT_FALSE(encoder.layers[1].qk_norm);
  EXPECT_EQ(error_of(with(kReformer, "[24, 40]", "[24, 41]")).path, "/axial_pos_embds_dim");
  EXPECT_EQ(error_of(with(kReformer, "[24, 40]", "[24, 20, 20]")).kind, ErrorKind::length_mismatch);
  EXPECT_EQ(error_of(with(kReformer, R"(["lsh", "local"])", R"(["lsh", "full"])")).kind, ErrorKind::out_of_range);
  EXPECT_EQ(error_of(with(kReformer, R"(["lsh", "local"])", "[]")).kind, ErrorKind::length_mismatch);
  const Plan table = plan_of(with(kReformer, R"("axial_pos_embds": true)", R"("axial_pos_embds": false)"));
  EXPECT_EQ(input_of<LearnedInput>(stack_of(table, "encoder")).positions, 512);
}

// ---- two stacks ----

TEST(EncoderDecoderFamilies, t5_has_its_own_numbers_of_layers_and_no_scale) {
  const Plan plan = plan_of(kT5);
  ASSERT_EQ(plan.stacks.size(), 2U);
  EXPECT_EQ(plan.stacks[0].name, "decoder");
  const Stack& encoder = stack_of(plan, "encoder");
  EXPECT_EQ(encoder.layers.size(), 3U);
  ASSERT_EQ(plan.stacks[0].layers.size(), 4U);
  EXPECT_FALSE(score_of<T5Bias>(plan.stacks[0]).bidirectional);
  EXPECT_TRUE(plan.stacks[0].layers[1].score.empty());
  EXPECT_EQ(score_of<T5Bias>(encoder), (T5Bias{.buckets = 16, .max_distance = 64, .bidirectional = true}));
  EXPECT_EQ(encoder.layers[0].head_dim, 32);
  EXPECT_EQ(encoder.layers[0].softmax_scale, 1);
  EXPECT_TRUE(plan.warnings.empty());
}

// The encoder halves 33 to 16 for each direction; the decoder sees one direction and uses all 33.
TEST(EncoderDecoderFamilies, t5_odd_buckets_leave_a_row_of_the_encoder_unused) {
  const std::string odd =
      with(kT5, R"("relative_attention_num_buckets": 16)", R"("relative_attention_num_buckets": 33)");
  const Plan plan = plan_of(odd);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(score_of<T5Bias>(stack_of(plan, "encoder")).buckets, 33);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].code, "odd-buckets");
  EXPECT_EQ(plan.warnings[0].keys, std::vector<std::string>{"/relative_attention_num_buckets"});
  EXPECT_NE(plan.warnings[0].message.find("each direction has 16 buckets"), std::string::npos)
      << plan.warnings[0].message;
  EXPECT_EQ(codes(plan_of(
                with(kMpnet, R"("relative_attention_num_buckets": 16)", R"("relative_attention_num_buckets": 17)"))),
            std::vector<std::string>{"odd-buckets"});
}

TEST(EncoderDecoderFamilies, t5_decoders_are_as_deep_as_encoders_by_default_and_may_be_missing) {
  const Plan even = plan_of(with(kT5, R"("num_decoder_layers": 2, )", ""));
  EXPECT_EQ(even.stacks.at(0).layers.size(), 6U);
  const Plan encoder = plan_of(with(kT5, "T5ForConditionalGeneration", "T5EncoderModel"));
  ASSERT_EQ(encoder.stacks.size(), 1U);
  EXPECT_EQ(encoder.stacks[0].name, "encoder");
  const Plan each = plan_of(with(with(kT5, R"("t5")", R"("umt5")"), "T5ForC", "UMT5ForC"));
  EXPECT_TRUE(score_of<T5Bias>(stack_of(each, "encoder")).table_per_layer);
}

TEST(EncoderDecoderFamilies, bart_stacks_have_their_own_heads_and_a_scaled_embedding) {
  const Plan plan = plan_of(kBart);
  const LearnedInput table{.positions = 130, .offset = 2, .token_types = {}, .embedding_multiplier = 8};
  EXPECT_EQ(input_of<LearnedInput>(stack_of(plan, "decoder")), table);
  EXPECT_EQ(input_of<LearnedInput>(stack_of(plan, "encoder")), table);
  EXPECT_EQ(stack_of(plan, "decoder").layers.at(1).heads, 8);
  EXPECT_EQ(stack_of(plan, "encoder").layers.at(0).heads, 4);
  EXPECT_EQ(plan.trained_length, 128);
  EXPECT_TRUE(plan.warnings.empty());
  // Marian is built alike, but for its sines; both stacks count the same rows.
  const Plan marian = plan_of(with(kBart, "bart", "marian"));
  EXPECT_EQ(input_of<SinusoidalInput>(stack_of(marian, "encoder")).convention, SinusoidConvention::marian);
  EXPECT_EQ(input_of<SinusoidalInput>(stack_of(marian, "encoder")).positions, 128);
}

TEST(EncoderDecoderFamilies, m2m_100_has_a_table_that_grows_after_the_padding_index) {
  const std::string text = with(with(kBart, "bart", "m2m_100"), R"("d_model")", R"("pad_token_id": 4, "d_model")");
  const SinusoidalInput sines = input_of<SinusoidalInput>(stack_of(plan_of(text), "encoder"));
  EXPECT_EQ(sines.convention, SinusoidConvention::tensor2tensor);
  EXPECT_EQ(sines.offset, 5);
  EXPECT_EQ(sines.positions, std::nullopt);
  EXPECT_EQ(sines.embedding_multiplier, 8);
}

TEST(EncoderDecoderFamilies, whisper_has_two_lengths) {
  const Plan plan = plan_of(kWhisper);
  EXPECT_EQ(plan.trained_length, 100);
  EXPECT_EQ(input_of<LearnedInput>(stack_of(plan, "decoder")).positions, 100);
  EXPECT_EQ(input_of<SinusoidalInput>(stack_of(plan, "encoder")).positions, 300);
  EXPECT_EQ(input_of<SinusoidalInput>(stack_of(plan, "encoder")).convention, SinusoidConvention::whisper);
}

// ---- all of them ----

// Misspelt, no key leaves the plan and its sources as they were without the list of ignored keys naming it.
TEST(EncoderFamilies, a_spoilt_key_never_goes_unnoticed) {
  for (std::string_view text : kAll) {
    const Plan plan = plan_of(text);
    EXPECT_TRUE(plan.known) << text;
    EXPECT_TRUE(std::ranges::all_of(plan.ignored_keys, [](const auto& key) { return key == "/auto_map"; })) << text;
    for (std::size_t at = text.find("\": "); at != std::string_view::npos; at = text.find("\": ", at + 1)) {
      if (text.substr(0, at).ends_with("architectures")) continue;  // here and below: of the file, not of positions
      if (text.substr(0, at).ends_with("auto_map")) continue;
      std::string spoilt(text);
      spoilt.insert(at, "_x");
      const Result<Plan> other = read(spoilt);
      if (!other) continue;
      const bool changed = other->stacks != plan.stacks || other->sources != plan.sources ||
                           other->model_type != plan.model_type || other->warnings != plan.warnings;
      EXPECT_TRUE(changed) << spoilt;
      EXPECT_FALSE(other->ignored_keys.empty()) << spoilt;
    }
  }
}

TEST(EncoderFamilies, json_holds_what_they_have) {
  for (std::string_view text : kAll) {
    const Plan plan = plan_of(text);
    const Result<Plan> again = plan_from_json(to_json(plan));
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_TRUE(*again == plan) << text;
  }
}

}  // namespace
}  // namespace posenc::test::encoder_families_test
