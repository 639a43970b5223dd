// BERT's kin, whose files choose between a table and ALiBi by keys that only some of their classes read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::bert_positions_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string bert(std::string_view architecture, std::string_view more) {
  return R"({"model_type": "bert", "architectures": [")" + std::string(architecture) +
         R"("], "hidden_size": 48, "num_attention_heads": 12, "num_hidden_layers": 2, "max_position_embeddings": 64,
         "type_vocab_size": 2)" +
         std::string(more) + "}";
}

void expect_symmetric_alibi(const Plan& plan) {
  EXPECT_TRUE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 1U);
  EXPECT_THAT(plan.stacks[0].input, IsEmpty());
  for (const LayerPlan& layer : plan.stacks[0].layers) {
    EXPECT_THAT(layer.score, ElementsAre(ScoreTerm(Alibi{.heads = 12, .max_bias = 8, .symmetric = true})));
    EXPECT_EQ(layer.mask.kind, MaskKind::bidirectional);
    EXPECT_THAT(layer.rotate, IsEmpty());
  }
}

TEST(BertPositions, jinas_type_alibi_is_symmetric_and_leaves_no_table) {
  const Plan plan = plan_of(bert("JinaBertForMaskedLM", R"(, "auto_map": {}, "position_embedding_type": "alibi")"));
  expect_symmetric_alibi(plan);
  EXPECT_THAT(codes(plan), ElementsAre("architecture-mismatch"));
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/score/0"), "/position_embedding_type");
}

TEST(BertPositions, a_starting_size_of_alibi_is_alibi_whatever_the_type_says) {
  for (const std::string_view size : {"512", "0"}) {
    const Plan plan = plan_of(bert("BertForMaskedLM", R"(, "auto_map": {}, "position_embedding_type": "absolute",
      "alibi_starting_size": )" + std::string(size)));
    expect_symmetric_alibi(plan);
    EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/score/0"), "/alibi_starting_size");
  }
  const Plan none = plan_of(bert("BertForMaskedLM", R"(, "alibi_starting_size": null)"));
  EXPECT_EQ(summary(none), "encoder: table 64+0 types2; 0-1 12/12x4 s0.5 both");
}

TEST(BertPositions, learned_distances_of_the_class_before_are_a_warning) {
  for (const std::string_view type : {"relative_key", "relative_key_query"}) {
    const Plan plan = plan_of(bert("BertModel", R"(, "position_embedding_type": ")" + std::string(type) + "\""));
    EXPECT_EQ(summary(plan), "encoder: table 64+0 types2; 0-1 12/12x4 s0.5 both") << type;
    EXPECT_THAT(codes(plan), ElementsAre("misleading-key")) << type;
    EXPECT_TRUE(plan.known);
  }
  const Plan plain = plan_of(bert("BertModel", R"(, "position_embedding_type": "absolute")"));
  EXPECT_THAT(codes(plain), IsEmpty());
  EXPECT_TRUE(plain.known);
}

TEST(BertPositions, what_only_other_code_reads_is_misleading) {
  for (const std::string_view key : {R"("position_embedding_type": "alibi")", R"("alibi_starting_size": 512)"}) {
    const Plan plan = plan_of(bert("BertModel", ", " + std::string(key)));
    EXPECT_EQ(summary(plan), "encoder: table 64+0 types2; 0-1 12/12x4 s0.5 both") << key;
    EXPECT_THAT(codes(plan), ElementsAre("misleading-key")) << key;
    EXPECT_TRUE(plan.known);
  }
}

TEST(BertPositions, another_word_is_not_known) {
  const Plan plan = plan_of(bert("BertModel", R"(, "auto_map": {}, "position_embedding_type": "spiral")"));
  EXPECT_FALSE(plan.known);
  EXPECT_FALSE(plan.stacks[0].known);
}

TEST(BertPositions, kin_of_bert_too) {
  const std::string text =
      with(bert("RobertaModel", R"(, "pad_token_id": 1, "auto_map": {}, "position_embedding_type": "alibi")"),
           R"("bert")", R"("roberta")");
  expect_symmetric_alibi(plan_of(text));
}

}  // namespace
}  // namespace posenc::test::bert_positions_test
