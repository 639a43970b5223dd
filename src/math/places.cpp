// Where the tokens of a padded sequence stand: cumsum(mask) - 1, and what the others get.
//
// One sum serves OPT, RoBERTa and BLOOM, which write it in three ways (input.h); they differ in what a token that does
// not count gets, and no query should ever see it.
#include "math/check/parameter_checks.h"
#include "posenc/input.h"

namespace posenc::inline v0_2 {

std::vector<std::int64_t> places(std::span<const std::uint8_t> mask, std::int64_t past, std::int64_t masked) {
  if (auto problem = math::check_at_least("past", past, 0)) throw Error("places", *problem);
  std::vector<std::int64_t> out;
  out.reserve(mask.size());
  for (const std::uint8_t counts : mask) out.push_back(counts != 0 ? past++ : masked);
  return out;
}

}  // namespace posenc::inline v0_2
