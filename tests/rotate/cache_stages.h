// The norms that keys may have, with random weights; and keys from stage to stage, in double, with what kernels may be
// off.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "math/rope/rotation.h"
#include "posenc/cache.h"
#include "posenc/reference.h"
#include "posenc/rope.h"
#include "reference/elements.h"
#include "rotate/cache_tensors.h"
#include "rotate/heads.h"
#include "support/gradient_tolerances.h"
#include "support/tolerances.h"

namespace posenc::test {

// A rotation of the middle channels, with an attention factor.
inline Rope middle(Pairing pairing, std::int64_t dim) {
  return {.pairing = pairing,
          .head_dim = dim + 5,
          .first_channel = 3,
          .dim = dim,
          .scaling = YarnScaling{.factor = 8.0, .original_max_position_embeddings = 4096}};
}

enum class Weights : std::uint8_t { none, head, heads, plus_one, bias };

struct NormCase {
  QkNorm::Kind kind;
  QkNorm::Order order;
  QkNorm::Over over;
  Weights weights;
};

inline std::vector<NormCase> norm_cases() {
  std::vector<NormCase> out;
  for (const auto order : {QkNorm::Order::before, QkNorm::Order::after}) {
    for (const auto over : {QkNorm::Over::head, QkNorm::Over::all_heads}) {
      for (const auto kind : {QkNorm::Kind::rms, QkNorm::Kind::l2, QkNorm::Kind::layer}) {
        for (const auto weights : {Weights::none, Weights::head, Weights::heads, Weights::plus_one, Weights::bias}) {
          if (weights == Weights::head && over == QkNorm::Over::all_heads) continue;
          if (weights == Weights::bias && kind != QkNorm::Kind::layer) continue;
          out.push_back({kind, order, over, weights});
        }
      }
    }
  }
  return out;
}

inline std::string name(const NormCase& n) {
  constexpr const char* kWeights[] = {"no weight", "a weight of a head", "weights", "weights - 1",
                                      "weights and biases"};
  return std::string(posenc::name(n.kind)) + " " + std::string(posenc::name(n.order)) + " over " +
         std::string(posenc::name(n.over)) + ", " + kWeights[static_cast<std::size_t>(n.weights)];
}

struct NormTensors {
  KeyNorm norm;
  Owned weight;
  Owned bias;
};

inline NormTensors tensors_of(const NormCase& n, DType dtype, std::int64_t heads, std::int64_t head_dim,
                              std::mt19937_64& random) {
  NormTensors out;
  out.norm.scheme = {.kind = n.kind, .order = n.order, .weighted = n.weights != Weights::none, .over = n.over};
  out.norm.epsilon = 1e-5;
  if (n.weights == Weights::none) return out;
  // A weight of all heads is given in both of its shapes.
  std::vector<std::int64_t> shape{heads, head_dim};
  if (n.weights == Weights::head) shape = {head_dim};
  if (n.weights == Weights::plus_one) shape = {heads * head_dim};
  out.weight = filled(dtype, shape, random);
  out.norm.weight = out.weight.view;
  out.norm.weight_plus_one = n.weights == Weights::plus_one;
  if (n.weights != Weights::bias) return out;
  out.bias = filled(dtype, shape, random);
  out.norm.bias = out.bias.view;
  return out;
}

// Keys [tokens, heads, head_dim] as they pass from stage to stage, in double, with what the kernels may be off.
class Stages {
 public:
  Stages(const ConstTensorView& k, double lanes)
      : shape_(k.shape),
        row_{{}, std::vector<double>(static_cast<std::size_t>(shape_[0] * shape_[1] * shape_[2]))},
        lanes_(lanes) {
    for_offsets(k, [&](std::int64_t offset) { row_.values.push_back(reference::read(k, offset)); });
  }

  Stages(const std::array<std::int64_t, kMaxRank>& shape, Row row, double lanes)
      : shape_(shape), row_(std::move(row)), lanes_(lanes) {}

  void normalise(const KeyNorm& norm) {
    const Row x = row_;
    reference::normalise(view(), as_tensor(x.values), norm);
    const std::int64_t group = group_of(norm);
    for (std::int64_t first = 0; first < std::ssize(x.values); first += group) {
      const std::vector<double> errors =
          normalised_errors({part(x.values, first, group), part(x.errors, first, group)}, norm.scheme, norm.epsilon,
                            weights_of(norm, first), part(row_.values, first, group), lanes_);
      std::ranges::copy(errors, row_.errors.begin() + first);
    }
  }

  void rotate(const Rope& rope, const Positions& positions, double factor, Direction direction = Direction::forward) {
    const Row x = row_;
    (void)reference::rotate(rope,
                            {.out = view(), .x = as_tensor(x.values), .positions = positions, .direction = direction});
    for (std::size_t head = 0; head < x.values.size(); head += static_cast<std::size_t>(rope.head_dim)) {
      for (std::int64_t p = 0; p < rope.pairs(); ++p) {
        const auto [first, second] = math::channels_of_pair(rope.pairing, rope.first_channel, rope.dim, p);
        const std::size_t a = head + static_cast<std::size_t>(first);
        const std::size_t b = head + static_cast<std::size_t>(second);
        const auto error = [&](std::size_t at, std::size_t other) {
          return rotated_error(x.values[at], x.errors[at], x.values[other], x.errors[other], row_.values[at], factor,
                               table_error(factor));
        };
        row_.errors[a] = error(a, b);
        row_.errors[b] = error(b, a);
      }
    }
  }

  // d_x, what the reference gives of the numbers that stand here, where a loss gives d of what the norm makes of them,
  // with what the kernels may be off; `normalised` becomes what the norm makes of them, less weight and bias.
  Row passed_back(const KeyNorm& norm, const Row& d, const std::vector<double>& d_x, Row& normalised) const {
    KeyNorm plain = norm;
    plain.scheme.weighted = plain.weight_plus_one = false;
    plain.weight = plain.bias = {};
    Stages made = *this;
    made.normalise(plain);
    normalised = made.row_;
    Row out{d_x, {}};
    const std::int64_t group = group_of(norm);
    for (std::int64_t first = 0; first < std::ssize(d_x); first += group) {
      const auto of = [&](const Row& row) {
        return Row{part(row.values, first, group), part(row.errors, first, group)};
      };
      const std::vector<double> errors = norm_gradient_errors(of(row_), of(normalised), of(d), norm.scheme,
                                                              norm.epsilon, weights_of(norm, first), lanes_);
      out.errors.insert(out.errors.end(), errors.begin(), errors.end());
    }
    return out;
  }

  const Row& row() const { return row_; }

 private:
  TensorView view() { return tensor(row_.values.data(), {shape_[0], shape_[1], shape_[2]}); }
  ConstTensorView as_tensor(const std::vector<double>& x) const {
    return tensor(x.data(), {shape_[0], shape_[1], shape_[2]});
  }
  static std::vector<double> part(const std::vector<double>& x, std::int64_t first, std::int64_t count) {
    return {x.begin() + first, x.begin() + first + count};
  }
  // Of numbers that one norm is over.
  std::int64_t group_of(const KeyNorm& norm) const {
    return shape_[2] * (norm.scheme.over == QkNorm::Over::head ? 1 : shape_[1]);
  }
  std::vector<double> weights_of(const KeyNorm& norm, std::int64_t first) const {
    std::vector<double> out;
    for (std::int64_t i = first; i < first + group_of(norm); ++i) out.push_back(weight_of(norm, i));
    return out;
  }
  double weight_of(const KeyNorm& norm, std::int64_t i) const {
    if (norm.weight.empty()) return 1.0;
    const bool of_one_head = norm.weight.rank == 1 && norm.weight.shape[0] == shape_[2];
    const std::int64_t at = of_one_head ? i % shape_[2] : i % (shape_[1] * shape_[2]);
    return reference::read(norm.weight, at) + (norm.weight_plus_one ? 1.0 : 0.0);
  }

  std::array<std::int64_t, kMaxRank> shape_;
  Row row_;
  double lanes_;
};

}  // namespace posenc::test
