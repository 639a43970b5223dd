// The bound of docs/attention.md for linear attention. The page's P_c is size_[c], its Q is of_total_.
#include "attend/linear_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attend/attend_bound.h"

namespace posenc::tool {
namespace {

constexpr double kLinearChunk = 48;         // rows that meet each other before they enter the sums (linear_unit.h)
constexpr double kLeastProduct = 0x1p-149;  // the smallest subnormal: a product below it is lost
constexpr double kLeastExp = 0x1p-126;  // what is below comes out of the exponential as 0 (src/kernels/exponential.h)

struct RoundedFeature {
  double value;
  double error;  // in roundings
};

// exp(x): its exponent is off by 2 |x|, of the product with log2(e) and of that constant, and 2 to it by 3.
RoundedFeature rounded_feature(FeatureMap map, double x) {
  if (map == FeatureMap::identity) return {x, 0.0};
  if (map == FeatureMap::relu) return {x < 0.0 ? 0.0 : x, 0.0};
  if (x >= 0.0 || std::isnan(x)) return {x + 1.0, x + 1.0};
  const double value = std::exp(x);
  const double lost = kLeastExp / kRounding;
  return {value, std::isinf(x) ? 0.0 : (2 * std::abs(x) + 3) * value + std::min(lost, value / kRounding)};
}

}  // namespace

Features features_of(const ConstTensorView& x, std::int64_t sequence, std::int64_t token, std::int64_t head,
                     FeatureMap map) {
  Features out;
  const std::int64_t channels = x.shape[static_cast<std::size_t>(x.rank - 1)];
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto [value, error] = rounded_feature(map, head_element(x, sequence, token, head, c));
    out.values.push_back(value);
    out.errors.push_back(error);
    out.length += value * value;
    out.error_length += error * error;
    out.are_finite = out.are_finite && std::isfinite(value);
  }
  out.length = std::sqrt(out.length);
  out.error_length = std::sqrt(out.error_length);
  return out;
}

LinearBound::LinearBound(const Features& query, std::int64_t value_dim, std::int64_t rotations)
    : query_(query),
      rotated_(2 * kRotated * static_cast<double>(rotations)),
      size_(static_cast<std::size_t>(value_dim)),
      off_(size_.size()),
      values_(size_.size()) {}

// A rotation keeps lengths, so Cauchy and Schwarz bound a product of rotated features; those of Z are not rotated.
void LinearBound::add(const Features& key, const double* values) {
  ++keys_;
  for (std::size_t c = 0; c < key.values.size(); ++c) {
    const double q = std::abs(query_.values[c]);
    const double k = std::abs(key.values[c]);
    total_ += query_.values[c] * key.values[c];
    of_total_ += q * k;
    off_total_ += query_.errors[c] * k + q * key.errors[c];
  }
  const double size = query_.length * key.length;
  const double off = query_.error_length * key.length + query_.length * key.error_length;
  for (std::size_t c = 0; c < size_.size(); ++c) {
    const double value = std::abs(values[c]);
    size_[c] += size * value;
    off_[c] += off * value;
    values_[c] += value;
  }
}

// Both sums go through those of a chunk, of chunks, and of the row's own chunk, and through a product of d channels.
double LinearBound::output(std::int64_t c, double out) const {
  if (keys_ == 0) return 0.0;  // 0, exactly
  const auto at = static_cast<std::size_t>(c);
  const auto channels = static_cast<double>(query_.values.size());
  const auto keys = static_cast<double>(keys_);
  const double sums = summed(2 * std::min(keys, kLinearChunk) + std::ceil(keys / kLinearChunk) + 1 + channels);
  const double lost = (channels + std::sqrt(channels) * query_.length + 1) * kLeastProduct;  // of a key's products
  const double total = (off_total_ + sums * of_total_) * kRounding + keys * lost;
  const double products = (off_[at] + (sums + rotated_) * size_[at]) * kRounding + lost * (values_[at] + keys);
  if (total == 0.0 && total_ == 0.0) return 0.0;  // every product is 0: so is the output
  if (!(total <= 0.02 * std::abs(total_))) return HUGE_VAL;
  return 1.05 * (products + std::abs(out) * total) / std::abs(total_) + std::abs(out) * kRounding;
}

}  // namespace posenc::tool
