// Heads and channels of an attention layer, as a config says them.
#pragma once

#include "plan/facts/attention_shape.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// Multi-head latent attention is read in its expanded form: heads = kv_heads = num_attention_heads and
// head_dim = qk_nope_head_dim + qk_rope_head_dim (DeepSeek-V2, arXiv 2405.04434, section 2.1).
AttentionShape read_attention_shape(ConfigScope& scope);

}  // namespace posenc::plan
