// The four forms of the rotation in reference.h, each written as its source writes it.
//
// They are slow on purpose: what is compared with them must not share a shortcut with them. x and the result are
// [head_dim], angles [dim/2] in radians.
#include <cmath>
#include <complex>
#include <cstddef>

#include "base/formatted.h"
#include "math/layout.h"
#include "math/rope/rotation.h"
#include "posenc/reference.h"

namespace posenc::inline v0_2::reference {
namespace {

// The two channels of a pair, by the layout's pairing.
struct Channels {
  std::size_t a;
  std::size_t b;
};

Channels channels(const RotaryLayout& layout, std::size_t pair) {
  const auto [a, b] =
      math::channels_of_pair(layout.pairing, layout.first_channel, layout.dim, static_cast<std::int64_t>(pair));
  return {static_cast<std::size_t>(a), static_cast<std::size_t>(b)};
}

void require_angles(std::string_view where, const RotaryLayout& layout, std::span<const double> angles) {
  if (auto problem = math::check_layout(layout)) throw Error(where, *problem);
  if (angles.size() != static_cast<std::size_t>(layout.pairs())) {
    throw Error(where, {"angles", formatted("have one angle for each pair, dim / 2 = {},", layout.pairs()),
                        formatted("{} long", angles.size())});
  }
}

void require_head(std::string_view where, const RotaryLayout& layout, std::span<const double> x,
                  std::span<const double> angles) {
  require_angles(where, layout, angles);
  if (x.size() != static_cast<std::size_t>(layout.head_dim)) {
    throw Error(where,
                {"x", formatted("have head_dim = {} channels", layout.head_dim), formatted("{} long", x.size())});
  }
}

}  // namespace

std::vector<double> rotation_matrix(const RotaryLayout& layout, std::span<const double> angles) {
  require_angles("rotation_matrix", layout, angles);
  const auto n = static_cast<std::size_t>(layout.head_dim);
  std::vector<double> matrix(n * n, 0.0);
  for (std::size_t c = 0; c < n; ++c) matrix[c * n + c] = 1.0;
  for (std::size_t p = 0; p < angles.size(); ++p) {
    const auto [a, b] = channels(layout, p);
    matrix[a * n + a] = std::cos(angles[p]);
    matrix[a * n + b] = -std::sin(angles[p]);
    matrix[b * n + a] = std::sin(angles[p]);
    matrix[b * n + b] = std::cos(angles[p]);
  }
  return matrix;
}

std::vector<double> rotate_matrix(const RotaryLayout& layout, std::span<const double> x,
                                  std::span<const double> angles) {
  require_head("rotate_matrix", layout, x, angles);
  const std::vector<double> matrix = rotation_matrix(layout, angles);
  std::vector<double> out(x.size(), 0.0);
  for (std::size_t row = 0; row < x.size(); ++row) {
    for (std::size_t column = 0; column < x.size(); ++column) {
      out[row] += matrix[row * x.size() + column] * x[column];
    }
  }
  return out;
}

std::vector<double> rotate_complex(const RotaryLayout& layout, std::span<const double> x,
                                   std::span<const double> angles) {
  require_head("rotate_complex", layout, x, angles);
  std::vector<double> out(x.begin(), x.end());
  for (std::size_t p = 0; p < angles.size(); ++p) {
    const auto [a, b] = channels(layout, p);
    const std::complex<double> rotated = std::complex(x[a], x[b]) * std::polar(1.0, angles[p]);
    out[a] = rotated.real();
    out[b] = rotated.imag();
  }
  return out;
}

std::vector<double> rotate_pairwise(const RotaryLayout& layout, std::span<const double> x,
                                    std::span<const double> angles) {
  require_head("rotate_pairwise", layout, x, angles);
  std::vector<double> out(x.begin(), x.end());
  for (std::size_t p = 0; p < angles.size(); ++p) {
    const auto [a, b] = channels(layout, p);
    const auto rotated = math::rotated<double>({x[a], x[b]}, std::cos(angles[p]), std::sin(angles[p]));
    out[a] = rotated.a;
    out[b] = rotated.b;
  }
  return out;
}

// No pair stands here: cos and sin are repeated to all `dim` channels, and the partner of each channel comes by moving
// the whole vector. half: cos = (cos, cos), partner = (-second half, first half). interleaved: each cos twice, partner
// = (-x1, x0, -x3, x2, ...), which GPT-J calls rotate_every_two.
std::vector<double> rotate_half(const RotaryLayout& layout, std::span<const double> x, std::span<const double> angles) {
  require_head("rotate_half", layout, x, angles);
  const std::size_t pairs = angles.size();
  const auto first = static_cast<std::size_t>(layout.first_channel);
  const std::span<const double> rotating = x.subspan(first, 2 * pairs);
  std::vector<double> out(x.begin(), x.end());
  for (std::size_t c = 0; c < rotating.size(); ++c) {
    double angle = 0.0;
    double partner = 0.0;
    if (layout.pairing == Pairing::half) {
      angle = angles[c % pairs];
      partner = c < pairs ? -rotating[c + pairs] : rotating[c - pairs];
    } else {
      angle = angles[c / 2];
      partner = c % 2 == 0 ? -rotating[c + 1] : rotating[c - 1];
    }
    out[first + c] = rotating[c] * std::cos(angle) + partner * std::sin(angle);
  }
  return out;
}

}  // namespace posenc::inline v0_2::reference
