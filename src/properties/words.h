// Attention over words: every word has a random embedding, and all that a layer makes of a token (q, k, v, gates) is
// made of that, so that equal words differ by their positions alone.
#pragma once

#include <cstdint>
#include <vector>

#include "properties/call.h"
#include "properties/numbers.h"
#include "properties/specimens.h"

namespace posenc::properties {

// Embeddings are of variance 1, W_Q, W_K and W_V have rows of length 1 on average: without positions q, k and v are of
// variance 1 too.
class Vocabulary {
 public:
  // Random, and the same each time: embeddings of that many words, and W_Q, W_K, W_V for their channels.
  Vocabulary(const Size& size, std::int64_t words);

  const Rows& embeddings() const { return embeddings_; }
  const Rows& w_q() const { return w_q_; }
  const Rows& w_k() const { return w_k_; }

  // A call in which word q_words[i] asks from place q_places[i], and the words of keys and values stand from place 0
  // on.
  Call call(const Specimen& specimen, const std::vector<std::int64_t>& q_words,
            const std::vector<std::int64_t>& q_places, const std::vector<std::int64_t>& k_words, MaskKind mask) const;

 private:
  Rows embedded(const std::vector<std::int64_t>& words) const;
  std::vector<double> of_words(const Rows& by_word, const std::vector<std::int64_t>& words) const;

  Rows embeddings_;  // [words, channels]
  Rows w_q_;         // [channels, channels], of entries of variance 1 / channels
  Rows w_k_;
  Rows w_v_;
  Rows log_forget_;  // [words, heads]
  Rows row_gate_;    // [words, heads]
};

// x W^T for each row of x.
Rows projected(const Rows& x, const Rows& w);

}  // namespace posenc::properties
