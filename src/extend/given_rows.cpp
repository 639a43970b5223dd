#include "extend/given_rows.h"

#include <algorithm>
#include <cmath>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "posenc/scores.h"

namespace posenc::extend {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 22;
constexpr std::int64_t kQueries = 16;
constexpr std::int64_t kDistances = 2048;  // or each, of shorter sequences

std::string shape_text(const ConstTensorView& x) {
  std::string out;
  for (int axis = 0; axis < x.rank; ++axis) {
    out += formatted("{}{}", axis == 0 ? "" : ", ", x.shape[static_cast<std::size_t>(axis)]);
  }
  return "[" + out + "]";
}

// At most `most` tokens, evenly chosen.
std::vector<double> rows_of(const char* where, const char* name, const ConstTensorView& x, std::int64_t most) {
  const std::int64_t tokens = std::min(x.shape[0], most);
  std::vector<double> out;
  for (std::int64_t n = 0; n < tokens; ++n) {
    const std::int64_t token = n * x.shape[0] / tokens;
    for (std::int64_t h = 0; h < x.shape[1]; ++h) {
      for (std::int64_t c = 0; c < x.shape[2]; ++c) {
        out.push_back(reference::element(x, {token, h, c}));
        if (!std::isfinite(out.back())) {
          throw Error(where, {name, "hold finite numbers", formatted("{} at [{}, {}, {}]", out.back(), token, h, c)});
        }
      }
    }
  }
  return out;
}

void must_fit(const char* where, const char* name, const ConstTensorView& x, std::int64_t heads,
              std::int64_t channels) {
  const bool fits = x.rank == 3 && x.shape[0] > 0 && x.shape[1] == heads && x.shape[2] == channels && x.data != nullptr;
  if (!fits) throw Error(where, {name, formatted("have shape [tokens, {}, {}]", heads, channels), shape_text(x)});
}

// The channels that pair p turns.
std::pair<std::int64_t, std::int64_t> channels_of(const Rope& rope, std::int64_t p) {
  const std::int64_t first = rope.first_channel;
  if (rope.pairing == Pairing::half) return {first + p, first + p + rope.dim / 2};
  return {first + 2 * p, first + 2 * p + 1};
}

}  // namespace

GivenRows::GivenRows(const char* where, const LayerPlan& layer, const ConstTensorView& q, const ConstTensorView& k)
    : channels_(layer.head_dim), heads_(layer.heads), kv_heads_(layer.kv_heads) {
  must_fit(where, "q", q, heads_, channels_);
  must_fit(where, "k", k, kv_heads_, channels_);
  const std::int64_t most = std::max<std::int64_t>(kMostElements / (heads_ * channels_), 1);
  q_ = rows_of(where, "q", q, std::min(most, kQueries));
  k_ = rows_of(where, "k", k, most);
  queries_ = std::ssize(q_) / (heads_ * channels_);
  keys_ = std::ssize(k_) / (kv_heads_ * channels_);
}

double GivenRows::entropy(const LayerPlan& layer, const Rope& rope, const Frequencies& frequencies,
                          std::int64_t length) const {
  double sum = 0.0;
  std::vector<double> scores;
  for (std::int64_t n = 0; n < queries_; ++n) {
    for (std::int64_t h = 0; h < heads_; ++h) {
      sum += entropy_of(layer, rope, frequencies, length, &q_[static_cast<std::size_t>((n * heads_ + h) * channels_)],
                        h, scores);
    }
  }
  return sum / static_cast<double>(queries_ * heads_);
}

// H = ln(sum e^s) - sum w s; a key stands for as many as distances are drawn from.
double GivenRows::entropy_of(const LayerPlan& layer, const Rope& rope, const Frequencies& frequencies,
                             std::int64_t length, const double* query, std::int64_t head,
                             std::vector<double>& scores) const {
  const std::int64_t samples = std::min(length, kDistances);
  const std::int64_t of_head = head * kv_heads_ / heads_;
  const double factor = frequencies.attention_factor * frequencies.attention_factor;
  const auto last = static_cast<double>(length - 1);
  const auto pairs = static_cast<std::int64_t>(frequencies.inv_freq.size());
  scores.clear();
  for (std::int64_t s = 0; s < samples; ++s) {
    const double distance =
        std::floor((static_cast<double>(s) + 0.5) / static_cast<double>(samples) * static_cast<double>(length));
    const Standing at = standing(layer.regions, last, last - distance);
    // Neighbouring distances take keys that are far apart in the given ones.
    const std::int64_t token = (s * 7919) % keys_;
    const double* const key = &k_[static_cast<std::size_t>((token * kv_heads_ + of_head) * channels_)];
    double score = 0.0;
    for (std::int64_t c = 0; c < channels_; ++c) score += query[c] * key[c];
    for (std::int64_t p = 0; p < pairs; ++p) {
      const auto [a, b] = channels_of(rope, p);
      const double angle = frequencies.inv_freq[static_cast<std::size_t>(p)] * (at.query - at.key);
      const double along = query[a] * key[a] + query[b] * key[b];
      const double across = query[b] * key[a] - query[a] * key[b];
      score += factor * (along * std::cos(angle) - across * std::sin(angle)) - along;
    }
    scores.push_back(layer.softmax_scale * score);
  }
  const double largest = *std::ranges::max_element(scores);
  double total = 0.0;
  double weighted = 0.0;
  for (const double score : scores) {
    const double weight = std::exp(score - largest);
    total += weight;
    weighted += weight * score;
  }
  const double each = static_cast<double>(length) / static_cast<double>(samples);
  return std::log(each * total) + largest - weighted / total;
}

}  // namespace posenc::extend
