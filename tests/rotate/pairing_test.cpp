// From one pairing to the other: the published permutation, its inverse, and models that do not notice.
#include "posenc/pairing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "posenc/cache.h"
#include "posenc/rotate.h"
#include "rotate/cache_tensors.h"
#include "support/every_isa.h"
#include "support/ropes.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::pairing_test {
namespace {

RotaryLayout plain_layout(Pairing pairing, std::int64_t dim) {
  return {.pairing = pairing, .head_dim = dim, .dim = dim};
}

TEST(PairingOrder, ByHand) {
  using Order = std::vector<std::int64_t>;
  EXPECT_EQ(pairing_order(plain_layout(Pairing::interleaved, 8), Pairing::half), (Order{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(pairing_order(plain_layout(Pairing::half, 8), Pairing::interleaved), (Order{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(pairing_order(plain_layout(Pairing::half, 4), Pairing::half), (Order{0, 1, 2, 3}));
  const RotaryLayout last{.pairing = Pairing::interleaved, .head_dim = 9, .first_channel = 2, .dim = 6};
  EXPECT_EQ(pairing_order(last, Pairing::half), (Order{0, 1, 2, 4, 6, 3, 5, 7, 8}));
}

// Meta's rows as Hugging Face's: w.view(heads, dim / 2, 2, in).transpose(1, 2), and back on the way to GGUF:
// w.view(heads, 2, dim / 2, in).transpose(1, 2).
TEST(PermutePairing, LlamasWeights) {
  const std::int64_t heads = 3;
  const std::int64_t dim = 10;
  const std::int64_t in = 7;
  std::vector<float> meta(static_cast<std::size_t>(heads * dim * in));
  for (std::size_t i = 0; i < meta.size(); ++i) meta[i] = static_cast<float>(i);
  const auto row = [&](std::int64_t h, std::int64_t r) { return (h * dim + r) * in; };
  std::vector<float> expected(meta.size());
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < dim / 2; ++i) {
      for (std::int64_t j = 0; j < 2; ++j) {
        // [h, i, j] of (heads, dim / 2, 2) is [h, j, i] of (heads, 2, dim / 2).
        std::copy_n(meta.begin() + row(h, 2 * i + j), in, expected.begin() + row(h, j * (dim / 2) + i));
      }
    }
  }
  std::vector<float> w = meta;
  const TensorView view = tensor(w.data(), {heads * dim, in});
  permute_pairing({.x = view, .layout = plain_layout(Pairing::interleaved, dim), .to = Pairing::half});
  EXPECT_EQ(w, expected);
  permute_pairing({.x = view, .layout = plain_layout(Pairing::half, dim), .to = Pairing::interleaved});
  EXPECT_EQ(w, meta);
  permute_pairing({.x = view, .layout = plain_layout(Pairing::half, dim), .to = Pairing::half});
  EXPECT_EQ(w, meta);
}

// Every dtype and rank, adjacent, with gaps, channels last and backwards: rows come from where pairing_order says, what
// lies between stays, and back is the identity.
TEST(PermutePairing, EveryDTypeAndLayout) {
  std::mt19937_64 random(3);
  const RotaryLayout layout{.pairing = Pairing::half, .head_dim = 13, .first_channel = 4, .dim = 6};
  const std::vector<std::int64_t> order = pairing_order(layout, Pairing::interleaved);
  const std::vector<std::vector<std::int64_t>> shapes{{39},       {26, 5}, {39, 3, 2}, {13, 2, 3, 4},
                                                      {26, 3000}, {0, 4},  {26, 0}};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (const std::vector<std::int64_t>& shape : shapes) {
      for (const bool reversed : {false, true}) {
        for (const bool channels_last : {false, true}) {
          std::vector<std::int64_t> stored = shape;
          if (channels_last) std::swap(stored.front(), stored.back());
          Owned x = owned(dtype, stored, 3);
          std::uint16_t next = 0;
          for_offsets(x.view, [&](std::int64_t offset) {
            // Bits of their own, of which those of a float do not matter.
            auto* const p = static_cast<std::byte*>(x.view.data) + offset * bytes_of(dtype);
            std::memcpy(p, &++next, sizeof next);
          });
          TensorView view = channels_last ? transposed(x.view, 0, x.view.rank - 1) : x.view;
          if (reversed && view.shape[0] > 0) {
            view.data = static_cast<std::byte*>(view.data) + (view.shape[0] - 1) * view.strides[0] * bytes_of(dtype);
            view.strides[0] = -view.strides[0];
          }
          const std::vector<std::byte> before = x.memory;
          std::vector<std::byte> expected = before;
          const auto place = [&](std::int64_t channel, std::int64_t rest) {
            std::int64_t offset = channel * view.strides[0];
            for (auto axis = static_cast<std::size_t>(view.rank); axis-- > 1;) {
              offset += rest % view.shape[axis] * view.strides[axis];
              rest /= view.shape[axis];
            }
            return static_cast<std::byte*>(view.data) - x.memory.data() + offset * bytes_of(dtype);
          };
          std::int64_t rest = 1;
          for (int axis = 1; axis < view.rank; ++axis) rest *= view.shape[static_cast<std::size_t>(axis)];
          for (std::int64_t channel = 0; channel < view.shape[0]; ++channel) {
            const std::int64_t source = channel / 13 * 13 + order[static_cast<std::size_t>(channel % 13)];
            for (std::int64_t i = 0; i < rest; ++i) {
              std::copy_n(before.begin() + place(source, i), bytes_of(dtype), expected.begin() + place(channel, i));
            }
          }
          permute_pairing({.x = view, .layout = layout, .to = Pairing::interleaved});
          EXPECT_TRUE(x.memory == expected) << name(dtype) << " rank " << view.rank;
          RotaryLayout back = layout;
          back.pairing = Pairing::interleaved;
          permute_pairing({.x = view, .layout = back, .to = Pairing::half});
          EXPECT_TRUE(x.memory == before) << name(dtype) << " rank " << view.rank;
        }
      }
    }
  }
}

TEST(PermutePairing, Errors) {
  std::vector<float> x(24);
  PermuteArgs args{.x = tensor(x.data(), {24}), .layout = plain_layout(Pairing::half, 8), .to = Pairing::interleaved};
  args.x.shape[0] = 20;
  EXPECT_ERROR(permute_pairing(args), "[permute_pairing] x.shape[0] must be a multiple of head_dim, 8, but is 20");
  args.x = {};
  EXPECT_ERROR(permute_pairing(args), "[permute_pairing] x.rank must be from 1 to 4 but is 0");
  args.x = tensor(static_cast<float*>(nullptr), {24});
  EXPECT_ERROR(permute_pairing(args), "[permute_pairing] x.data must point to the elements but is null");
  args.x = tensor(x.data(), {8, 3});
  args.x.shape[1] = -1;
  EXPECT_ERROR(permute_pairing(args), "[permute_pairing] x.shape[1] must be at least 0 but is -1");
  args.x = tensor(x.data(), {8, 3});
  args.x.strides[0] = 2;
  EXPECT_ERROR(permute_pairing(args),
               "[permute_pairing] x.strides must give every element a place of its own but is 8 parts of 3 elements, "
               "2 apart");
  args.x = tensor(reinterpret_cast<std::byte*>(x.data()) + 2, DType::f32, {8});
  EXPECT_ERROR(permute_pairing(args),
               "[permute_pairing] x.data must be aligned to its elements, 4 bytes, but is between two");
  args.layout.dim = 7;
  EXPECT_ERROR(permute_pairing(args),
               "[permute_pairing] dim must be even and at least 2, since channels are rotated in pairs, but is 7");
  args.layout.dim = 8;
  args.to = static_cast<Pairing>(7);
  EXPECT_ERROR(permute_pairing(args), "[permute_pairing] to must be half or interleaved but is 7");
  EXPECT_ERROR((void)pairing_order(args.layout, static_cast<Pairing>(7)),
               "[pairing_order] to must be half or interleaved but is 7");
}

// Latent attention (DeepSeek), whose last channels of a query rotate, and of the keys' one projection those behind the
// latent: rows that do not rotate stay, and every channel of every head is the same number in its new place.
TEST(PermutePairing, LatentAttention) {
  constexpr std::int64_t kTokens = 3;
  constexpr std::int64_t kIn = 6;
  std::mt19937_64 random(5);
  std::uniform_int_distribution<int> small(-9, 9);  // sums of their products are floats
  const RotaryLayout query{.pairing = Pairing::interleaved, .head_dim = 20, .first_channel = 12, .dim = 8};
  const RotaryLayout keys{.pairing = Pairing::interleaved, .head_dim = 18, .first_channel = 10, .dim = 8};
  const std::vector<Isa> isas = every_isa("latent attention");
  for (const auto& [layout, heads] : {std::pair(query, std::int64_t{2}), {keys, 1}}) {
    const std::int64_t rows = heads * layout.head_dim;
    std::vector<float> weight(static_cast<std::size_t>(rows * kIn));
    std::vector<float> x(kTokens * kIn);
    for (float& w : weight) w = static_cast<float>(small(random));
    for (float& value : x) value = static_cast<float>(small(random));
    const auto rotated = [&, head_dim = layout.head_dim](const RotaryLayout& by, Isa isa) {
      std::vector<float> y(static_cast<std::size_t>(kTokens * rows));
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t token = i / static_cast<std::size_t>(rows);
        const std::size_t row = i % static_cast<std::size_t>(rows);
        for (std::size_t c = 0; c < kIn; ++c) y[i] += weight[row * kIn + c] * x[token * kIn + c];
      }
      const RotaryTable table = make_table(by, {.inv_freq = {1.0, 0.5, 0.25, 0.125}}, {.count = kTokens});
      (void)rotate({.q = tensor(y.data(), {kTokens, rows / head_dim, head_dim}), .table = &table, .isa = isa});
      return y;
    };
    const std::vector<std::int64_t> order = pairing_order(layout, Pairing::half);
    const std::vector<float> before = weight;
    RotaryLayout other = layout;
    other.pairing = Pairing::half;
    for (const Isa isa : isas) {
      const std::vector<float> expected = rotated(layout, isa);
      permute_pairing({.x = tensor(weight.data(), {rows, kIn}), .layout = layout, .to = Pairing::half});
      EXPECT_NE(weight, before);
      const std::vector<float> now = rotated(other, isa);
      for (std::size_t i = 0; i < now.size(); ++i) {
        const std::size_t channel = i % static_cast<std::size_t>(layout.head_dim);
        EXPECT_EQ(now[i], expected[i - channel + static_cast<std::size_t>(order[channel])]) << name(isa) << ", " << i;
      }
      permute_pairing({.x = tensor(weight.data(), {rows, kIn}), .layout = other, .to = Pairing::interleaved});
      EXPECT_EQ(weight, before);
    }
  }
}

// A layer: projections with biases, norms of keys and queries, a rotation.
struct Layer {
  Rope rope;
  std::int64_t heads;
  std::int64_t in;
  std::vector<float> weight;       // [heads * head_dim, in]
  std::vector<float> bias;         // [heads * head_dim]
  std::vector<float> norm_weight;  // [head_dim], or [heads * head_dim]
};

// The rotated heads of tokens x [tokens, in], in double from the projection to the norm, as posenc gives them.
std::vector<float> heads_of(const Layer& layer, const std::vector<double>& x, std::int64_t tokens, Isa isa) {
  const std::int64_t rows = layer.heads * layer.rope.head_dim;
  std::vector<float> projected;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t r = 0; r < rows; ++r) {
      double sum = static_cast<double>(layer.bias[static_cast<std::size_t>(r)]);
      for (std::int64_t i = 0; i < layer.in; ++i) {
        sum += static_cast<double>(layer.weight[static_cast<std::size_t>(r * layer.in + i)]) *
               x[static_cast<std::size_t>(t * layer.in + i)];
      }
      projected.push_back(static_cast<float>(sum));
    }
  }
  const RotaryTable table = table_on_demand(layer.rope);
  std::vector<std::int64_t> slots;
  for (std::int64_t t = 0; t < tokens; ++t) slots.push_back(t);
  std::vector<float> out(projected.size());
  const KeyNorm norm{
      .scheme = {.over = std::ssize(layer.norm_weight) == rows ? QkNorm::Over::all_heads : QkNorm::Over::head},
      .weight = tensor(layer.norm_weight.data(), {std::ssize(layer.norm_weight)})};
  (void)rotate_into_cache(
      {.k = tensor(static_cast<const float*>(projected.data()), {tokens, layer.heads, layer.rope.head_dim}),
       .positions = PositionRange{12345},
       .table = &table,
       .norm = norm,
       .k_cache = tensor(out.data(), {tokens, layer.heads, layer.rope.head_dim}),
       .slots = slots,
       .isa = isa});
  return out;
}

// Scores [heads, tokens, tokens] of q and k of one size, and the products of the lengths that they are made of.
struct Scores {
  std::vector<double> scores;
  std::vector<double> lengths;
};

Scores scores_of(const std::vector<float>& q, const std::vector<float>& k, std::int64_t tokens, std::int64_t heads) {
  const std::int64_t head_dim = std::ssize(q) / (tokens * heads);
  Scores out;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t j = 0; j < tokens; ++j) {
        double sum = 0.0;
        double q_squares = 0.0;
        double k_squares = 0.0;
        for (std::int64_t c = 0; c < head_dim; ++c) {
          const auto a = static_cast<double>(q[static_cast<std::size_t>((i * heads + h) * head_dim + c)]);
          const auto b = static_cast<double>(k[static_cast<std::size_t>((j * heads + h) * head_dim + c)]);
          sum += a * b;
          q_squares += a * a;
          k_squares += b * b;
        }
        out.scores.push_back(sum);
        out.lengths.push_back(std::sqrt(q_squares * k_squares));
      }
    }
  }
  return out;
}

void change_pairing(Layer& layer, Pairing to) {
  const RotaryLayout from = layout(layer.rope);
  const std::int64_t rows = layer.heads * layer.rope.head_dim;
  permute_pairing({.x = tensor(layer.weight.data(), {rows, layer.in}), .layout = from, .to = to});
  permute_pairing({.x = tensor(layer.bias.data(), {rows}), .layout = from, .to = to});
  permute_pairing({.x = tensor(layer.norm_weight.data(), {std::ssize(layer.norm_weight)}), .layout = from, .to = to});
  layer.rope.pairing = to;
}

std::vector<float> normal_numbers(std::int64_t count, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(normal(random));
  return out;
}

// Permuted weights with the other pairing are the same model; one of the two without the other is not.
TEST(PermutePairing, TheModelDoesNotNotice) {
  std::mt19937_64 random(4);
  const std::int64_t tokens = 6;
  const std::int64_t heads = 2;
  const std::int64_t in = 16;
  Rope rope = plain_rope(32);
  rope.head_dim = 40;
  rope.first_channel = 8;
  const std::int64_t rows = heads * rope.head_dim;
  ErrorRatio ratio("scores after permute_pairing");
  for (const Isa isa : every_isa("the other pairing")) {
    for (const Pairing from : {Pairing::half, Pairing::interleaved}) {
      const Pairing to = from == Pairing::half ? Pairing::interleaved : Pairing::half;
      for (const std::int64_t normed : {rope.head_dim, rows}) {
        rope.pairing = from;
        const auto layer = [&] {
          return Layer{rope,
                       heads,
                       in,
                       normal_numbers(rows * in, random),
                       normal_numbers(rows, random),
                       normal_numbers(normed, random)};
        };
        Layer q = layer();
        Layer k = layer();
        std::vector<double> x;
        for (const float y : normal_numbers(tokens * in, random)) x.push_back(static_cast<double>(y));
        const auto scores = [&] {
          return scores_of(heads_of(q, x, tokens, isa), heads_of(k, x, tokens, isa), tokens, heads);
        };
        const Scores expected = scores();
        change_pairing(q, to);
        change_pairing(k, to);
        const Scores same = scores();
        q.rope.pairing = from;
        k.rope.pairing = from;
        const Scores wrong = scores();
        double worst = 0.0;
        for (std::size_t i = 0; i < same.scores.size(); ++i) {
          const double bound = reordered_score_bound(expected.lengths[i], static_cast<double>(normed), lanes_of(isa));
          ratio.add(std::abs(same.scores[i] - expected.scores[i]), bound, name(isa));
          worst = std::max(worst, std::abs(wrong.scores[i] - expected.scores[i]) / bound);
        }
        EXPECT_GT(worst, 1000) << name(isa);
      }
    }
  }
  ratio.expect();
}

}  // namespace
}  // namespace posenc::test::pairing_test
