// The attention layer in whose terms text 001 writes its formulas: tokens x, sinusoids p, and three projections.
#pragma once

#include "attention.h"

namespace seeds {

using Stage = posenc::reference::ScoreStage;

inline constexpr std::size_t kTokens = 4;
inline constexpr std::size_t kDim = 4;  // of the model, and of its one head

// Of one layer: tokens x, their sinusoids p, and the three projections. xq is x W_Q, and so on.
struct Layer {
  Numbers x = sample(kTokens * kDim, 11);
  Numbers p{};
  Numbers w_q = sample(kDim * kDim, 12);
  Numbers w_k = sample(kDim * kDim, 13);
  Numbers w_v = sample(kDim * kDim, 14);
  Numbers xq = product(x, w_q, kDim);
  Numbers xk = product(x, w_k, kDim);
  Numbers xv = product(x, w_v, kDim);

  Layer() {
    for (std::size_t i = 0; i < kTokens; ++i) {
      for (const double c : posenc::input_row(posenc::SinusoidalInput{}, kDim, static_cast<double>(i))) p.push_back(c);
    }
  }
  Numbers added() const { return with_input(posenc::SinusoidalInput{}, x, kDim, posenc::SinusoidalInputWeights{}); }
};

// f(i, j) for every query and key.
template <typename Function>
Numbers pairs(Function&& f) {
  Numbers out;
  for (std::size_t i = 0; i < kTokens; ++i) {
    for (std::size_t j = 0; j < kTokens; ++j) out.push_back(f(i, j));
  }
  return out;
}

inline Numbers at(const Numbers& rows, std::size_t i) { return row(rows, kDim, i); }

inline const posenc::LayerPlan kScaled = layer_of(1, kDim, 0.5);  // 1 / sqrt(4)
inline const posenc::LayerPlan kPlain = layer_of(1, kDim, 1.0);

}  // namespace seeds
