// Groups of keys to codes, one head of one group at a time: the least and the greatest number of each channel, a scale
// and a zero of them, rounded to the type that they are stored in, and codes of these.
#include "cpu/cache/grouped_keys.h"

#include <algorithm>
#include <vector>

#include "cpu/call/row_floats.h"

namespace posenc::cpu {

void store_groups(const CacheArgs& args, const CacheCall& call, const kernels::KernelTable& kernels,
                  const float* rows) {
  const CodesView& codes = call.k_codes;
  const std::int64_t width = codes.channels;
  std::vector<float> numbers(static_cast<std::size_t>(2 * width));
  float* const scale = numbers.data();
  float* const zero = scale + width;
  for (std::int64_t t = 0; t < std::ssize(args.slots);) {
    const std::int64_t slot = args.slots[static_cast<std::size_t>(t)];
    if (slot < 0) {
      ++t;
      continue;
    }
    const std::int64_t member = slot / codes.tokens;
    const std::int64_t token = slot % codes.tokens;
    for (std::int64_t head = 0; head < codes.heads; ++head) {
      kernels.codes->encode_channels({.rows = codes.group,
                                      .count = width,
                                      .from = rows + (t * codes.heads + head) * width,
                                      .from_row = codes.heads * width,
                                      .to = codes.rows.at(member, token, head),
                                      .to_row = codes.rows.row_stride,
                                      .scale = scale,
                                      .zero = zero,
                                      .rounds_to_f16 = codes.scale_element == kernels::Element::f16});
      const std::int64_t group = token / codes.group;
      write_floats(kernels, scale, width, codes.scale_element, codes.scales.at(member, group, head));
      write_floats(kernels, zero, width, codes.scale_element, codes.zeros.at(member, group, head));
    }
    t += codes.group;
  }
}

}  // namespace posenc::cpu
