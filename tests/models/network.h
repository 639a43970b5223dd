// The forward pass of small transformers in plain loops over double, for tests that hold posenc against published
// numbers.
//
// All that a model does with positions is its plan's: which layers there are, what is added to the embeddings, what
// rotates, biases, masks, scales, caps, sinks, norms of q and k. reference::attend and reference::add_input do it. What
// stands here is the rest, once: projections, norms, feed-forward, experts, and how a block puts them together. A
// weight that a checkpoint has is used, one that it lacks is not there; the names are our own (weights.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/arithmetic.h"
#include "models/attention_part.h"
#include "models/model.h"

namespace posenc::test {

// What goes into one stack of a model.
struct StackInput {
  Numbers x{};                      // [tokens, channels], behind the input stage
  Numbers coordinates{};            // [axes, tokens]; left out: the order
  const Numbers* memory = nullptr;  // [tokens, channels]: what cross attention reads
};

class Network {
 public:
  explicit Network(const Model& model, const Setting& setting = {});

  // Embeddings of tokens behind the input stage and its norm, [tokens, channels].
  Numbers embedded(std::size_t stack, std::span<const std::int64_t> tokens,
                   std::span<const std::int64_t> token_types = {});
  // The same of rows that are not tokens: patches of an image behind a class token, or frames of sound.
  Numbers embedded(std::size_t stack, const Numbers& rows);
  // Hidden states behind the last layer and norm. Keys and values of earlier calls are kept and seen.
  Numbers hidden(std::size_t stack, StackInput input);
  // What the model publishes of hidden states.
  Numbers read_out(const Numbers& hidden);
  Arithmetic& arithmetic() { return arithmetic_; }

 private:
  std::string prefix(std::size_t stack) const;
  Numbers logits(const Numbers& hidden);
  Numbers with_positions(std::size_t stack, const Numbers& x, std::int64_t tokens,
                         std::span<const std::int64_t> token_types);
  Numbers convolved(const Numbers& x, const std::string& name, std::int64_t stride);
  void add_errors(SinusoidalInput scheme, std::size_t stack, Tensor& rows);
  template <typename Part>
  Numbers with_part(const Numbers& sum_so_far, const Numbers& x, const std::string& at, const std::string& norm,
                    const Part& part);
  Numbers mixed(const LayerPlan& layer, const std::string& at, const Numbers& x, const StackInput& input);

  const Model& model_;
  Arithmetic arithmetic_;
  AttentionPart attention_;
  std::map<std::size_t, std::int64_t> seen_;  // tokens of earlier calls, by stack
};

}  // namespace posenc::test
