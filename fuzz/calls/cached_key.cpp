#include "fuzz/calls/cached_key.h"

#include <algorithm>
#include <cmath>

#include "math/rope/rotation.h"
#include "posenc/reference.h"
#include "reference/elements.h"

namespace posenc::fuzz {
namespace {

// As a factor on x', with bias and plus one as the norm has them.
double weight_of(const KeyNorm& norm, std::int64_t i) {
  const ConstTensorView& w = norm.weight;
  if (w.empty()) return 1.0;
  const std::int64_t size = w.rank == 1 ? w.shape[0] : w.shape[0] * w.shape[1];
  return reference::read(w, i % size) + (norm.weight_plus_one ? 1.0 : 0.0);  // elements are adjacent
}

class Stages {
 public:
  Stages(std::span<const double> x, std::int64_t head_dim, double lanes)
      : row_{{x.begin(), x.end()}, std::vector<double>(x.size())}, head_dim_(head_dim), lanes_(lanes) {}

  void normalise(const KeyNorm& norm) {
    const test::Row x = row_;
    const auto all = std::ssize(x.values);
    reference::normalise(tensor(row_.values.data(), {1, all / head_dim_, head_dim_}),
                         tensor(x.values.data(), {1, all / head_dim_, head_dim_}), norm);
    const std::int64_t group = norm.scheme.over == QkNorm::Over::head ? head_dim_ : all;
    for (std::int64_t first = 0; first < all; first += group) {
      std::vector<double> weight;
      for (std::int64_t i = first; i < first + group; ++i) weight.push_back(weight_of(norm, i));
      const auto part = [&](const std::vector<double>& of) {
        return std::vector<double>(of.begin() + first, of.begin() + first + group);
      };
      const std::vector<double> errors = test::normalised_errors({part(x.values), part(x.errors)}, norm.scheme,
                                                                 norm.epsilon, weight, part(row_.values), lanes_);
      std::ranges::copy(errors, row_.errors.begin() + first);
    }
  }

  bool rotate(const Rotation& rotation, std::span<const double> coordinates) {
    const test::Row x = row_;
    const auto rotated = rotated_row(rotation, x.values, coordinates, Direction::forward);
    if (!rotated) return false;
    row_.values = rotated->values;
    const Rope& rope = rotation.rope;
    for (std::size_t head = 0; head < x.values.size(); head += static_cast<std::size_t>(head_dim_)) {
      for (std::int64_t p = 0; p < rope.pairs(); ++p) {
        const auto [first, second] = math::channels_of_pair(rope.pairing, rope.first_channel, rope.dim, p);
        const auto error = [&](std::int64_t c, std::int64_t partner) {
          const std::size_t n = head + static_cast<std::size_t>(c);
          const std::size_t other = head + static_cast<std::size_t>(partner);
          row_.errors[n] = test::rotated_error(x.values[n], x.errors[n], x.values[other], x.errors[other],
                                               row_.values[n], rotated->size, rotated->error);
        };
        error(first, second);
        error(second, first);
      }
    }
    return true;
  }

  test::Row row() const { return row_; }

 private:
  test::Row row_;
  std::int64_t head_dim_;
  double lanes_;
};

}  // namespace

std::optional<test::Row> cached_key(std::span<const double> x, std::int64_t head_dim,
                                    const std::optional<KeyNorm>& norm, const Rotation* rotation,
                                    std::span<const double> coordinates, double lanes) {
  // Sums of squares are floats (KeyNorm).
  const auto overflows = [](double channel) { return std::abs(channel) > 0x1p60; };
  if (norm && std::ranges::any_of(x, overflows)) return {};
  Stages stages(x, head_dim, lanes);
  if (norm && norm->scheme.order == QkNorm::Order::before) stages.normalise(*norm);
  if (rotation != nullptr && !stages.rotate(*rotation, coordinates)) return {};
  if (norm && norm->scheme.order == QkNorm::Order::after) stages.normalise(*norm);
  const test::Row row = stages.row();
  const auto is_sound = [](double error) { return std::isfinite(error); };
  if (!std::ranges::all_of(row.errors, is_sound)) return {};
  return row;
}

}  // namespace posenc::fuzz
