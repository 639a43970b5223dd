// Weights of a checkpoint, under names of our own:
//
//   embed_tokens, embed_positions, token_types, project_in, embed_norm      the input stage
//   class_token, patches, conv1, conv2                                      that of an image, and of sound
//   layers.0.attn.{q, k, v, o} or qkv; kv_a, kv_a_norm, kv_b                projections; of latent attention
//   layers.0.attn.{q_norm, k_norm, sinks, distances}, distances             norms of q and k, tables of score terms
//   layers.0.cross.*                                                        the same, of attention to a memory
//   layers.0.mlp.{gate, up, down} or gate_up; shared.*, shared_gate         feed-forward, and what all tokens share of
//   layers.0.mlp.{router, experts.0.*}                                      experts
//   layers.0.*.{before, after, sum, scale}                                  norms of what a part reads, of what it
//                                                                           adds, of the sum; a factor per channel
//   layers.0.scale, norm, project_out, lm_head, pooler, classifier          of a block's sum; the last norm; heads
//
// Biases are NAME.bias. Stacks of a model that has several come before: "encoder.layers.0.attn.q".
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace posenc::test {

// The first `from` in a name becomes `to`, where `within` stands in it too.
struct Rename {
  std::string_view from;
  std::string_view to;
  std::string_view within{};
};

// How a family names its weights: rules one after another, and what (after them) is stored as [inputs, outputs].
struct Names {
  std::vector<std::span<const Rename>> rules;
  std::vector<std::string_view> transposed{};
  std::vector<Rename> copies{};  // weights that serve under a second name as well
};

// Every tensor of a file, as double. Experts that lie in one tensor are taken apart.
Weights read_weights(const std::filesystem::path& path, const Names& names);

}  // namespace posenc::test
