// Buckets of distances: T5's, arXiv 1910.10683, and DeBERTa's, arXiv 2006.03654 and 2111.09543.
//
// Both take a logarithm in float and cut it to a whole number, T5 downwards, DeBERTa upwards, so an edge can fall on
// the other side in double, as Microsoft's own code has it, or where a library's logarithm is an ulp off. For published
// settings all agree; of T5's buckets to distances below 2000, torch's are others in 6 of a million.
#include <algorithm>
#include <cmath>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/scores.h"

namespace posenc::inline v0_2 {
namespace {

void require_at_least(std::string_view where, const char* field, std::int64_t is, std::int64_t least) {
  if (is >= least) return;
  throw Error(where, {field, formatted("be at least {}", least), formatted("{}", is)});
}

}  // namespace

//   bidirectional: half of the buckets for keys in the future (j > i), the upper half
//   r < exact = buckets / 2: r      else min(buckets - 1, exact + trunc(ln(r / exact) / ln(max / exact) (buckets -
//   exact)))
std::int64_t t5_bucket(const T5Bias& scheme, std::int64_t distance) {
  const std::int64_t buckets = scheme.bidirectional ? scheme.buckets / 2 : scheme.buckets;
  const std::int64_t exact = buckets / 2;
  require_at_least("t5_bucket", "buckets", scheme.buckets, scheme.bidirectional ? 4 : 2);
  require_at_least("t5_bucket", "max_distance", scheme.max_distance, exact + 1);
  const std::int64_t first = scheme.bidirectional && distance < 0 ? buckets : 0;
  const std::int64_t r = scheme.bidirectional ? std::abs(distance) : std::max<std::int64_t>(distance, 0);
  if (r < exact) return first + r;
  const float ratio = static_cast<float>(r) / static_cast<float>(exact);
  const auto span = static_cast<float>(std::log(static_cast<double>(scheme.max_distance) / static_cast<double>(exact)));
  const float place = std::log(ratio) / span * static_cast<float>(buckets - exact);
  return first + std::min(buckets - 1, exact + static_cast<std::int64_t>(place));
}

std::int64_t deberta_span(const Deberta& scheme) { return scheme.buckets > 0 ? scheme.buckets : scheme.max_distance; }

//   |d| <= mid = buckets / 2: d      else sign(d) (ceil(ln(|d| / mid) / ln((max - 1) / mid) (mid - 1)) + mid)
//
// Hugging Face rounds (max - 1) / mid to float before its logarithm, T5 the logarithm of the double: so here a distance
// of max - 1 is in bucket 2 mid - 1 for sure.
//
// The paper indexes position to content by the distance of key to query; checkpoints were trained with that of query to
// key for both.
std::int64_t deberta_row(const Deberta& scheme, std::int64_t distance) {
  const std::int64_t span = deberta_span(scheme);
  require_at_least("deberta_row", "max_distance", span, 1);
  std::int64_t bucket = distance;
  if (const std::int64_t mid = scheme.buckets / 2; scheme.buckets > 0 && std::abs(distance) > mid) {
    require_at_least("deberta_row", "buckets", scheme.buckets, 2);
    require_at_least("deberta_row", "max_distance", scheme.max_distance, mid + 2);
    const float ratio = static_cast<float>(std::abs(distance)) / static_cast<float>(mid);
    const auto last = static_cast<float>(static_cast<double>(scheme.max_distance - 1) / static_cast<double>(mid));
    const float place = std::ceil(std::log(ratio) / std::log(last) * static_cast<float>(mid - 1));
    bucket = (distance < 0 ? -1 : 1) * (static_cast<std::int64_t>(place) + mid);
  }
  return std::clamp<std::int64_t>(bucket + span, 0, 2 * span - 1);
}

}  // namespace posenc::inline v0_2
