// MPT and DBRX, of MosaicML and Databricks. One row a family. Facts: the transformers 5.23.0 class named by the stem;
// but of
//   mpt: attn_config as its published code reads it (mosaicml/llm-foundry llmfoundry/models/mpt and
// models/layers/attention.py), where the class drops a key.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kMptKeys[] = {{&keys::kHeadDim}};
constexpr InputRule kTableIfSaid{.kind = InputKind::learned, .present_if = &keys::kLearnedInput};
constexpr MaskRule kPrefixIfSaid{.prefix_if = &keys::kPrefix};
constexpr ScoreRule kAlibiTerm{.kind = ScoreKind::alibi};
constexpr StackRule kMptStack{.mask = kPrefixIfSaid, .input = kTableIfSaid, .score = kAlibiTerm, .own_keys = kMptKeys};

}  // namespace

std::span<const Family> mpt_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "mpt", .class_stems = "Mpt MPT", .pairing = Pairing::half,
     .own_names = "d_model n_heads n_layers max_seq_len", .nested = "attn_config", .main = kMptStack,
     .kv_heads = KvHeads::by_attention_kind, .scales = false, .scheme = Scheme::mpt, .scale = Scale::softmax_scale,
     .qk_norm = QkNormRule{.norm = kLayerNormAcrossHeads, .switch_key = "qk_ln"}, .misleading_keys = "learned_pos_emb",
     .undecided_keys = "block_overrides sliding_window_size attn_logit_softcapping"},
    {.name = "dbrx", .class_stems = "Dbrx", .pairing = kHalf, .nested = "attn_config",
     .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
