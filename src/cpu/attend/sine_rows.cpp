// Sinusoids of relative distances as floats (Transformer-XL, arXiv 1901.02860; XLNet; NEZHA), by the angle kernel: the
// rows of a run of distances are kept from tile to tile, others are made for one tile.
#include "cpu/attend/sine_rows.h"

#include <algorithm>
#include <limits>

#include "cpu/attend/place_vectors.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

using Wave = math::Sinusoid::Wave;

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();  // no slot's distance

}  // namespace

// Each once, ascending: sine and cosine of one frequency are one pair of the angle kernel.
std::vector<double> SineRule::frequencies(const math::SineDistance& term) {
  std::vector<double> out;
  for (const math::Sinusoid& channel : term.channels) {
    if (channel.wave != Wave::nothing) out.push_back(channel.inv_freq);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

SineRule::SineRule(const math::SineDistance& term) : angles_(frequencies(term), {}, 1.0, Angles::exact) {
  const std::vector<double> all = frequencies(term);
  pairs_ = std::ssize(all);
  for (const math::Sinusoid& channel : term.channels) {
    const std::int64_t pair = std::ranges::lower_bound(all, channel.inv_freq) - all.begin();
    places_.push_back(channel.wave == Wave::nothing ? -1 : channel.wave == Wave::sine ? pair : pairs_ + pair);
  }
}

std::vector<float> SineRule::arranged(const ConstTensorView& projection) const {
  const std::vector<float> given = floats_of(projection);
  const std::int64_t channels = std::ssize(places_);
  const std::int64_t outputs = std::ssize(given) / channels;
  std::vector<float> out(index(outputs * width()));
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t place = places_[index(c)];
      if (place >= 0) out[index(o * width() + place)] = given[index(o * channels + c)];
    }
  }
  return out;
}

std::vector<double> SineRule::taken_apart(const std::vector<double>& arranged) const {
  const std::int64_t channels = std::ssize(places_);
  const std::int64_t outputs = std::ssize(arranged) / width();
  std::vector<double> out(index(outputs * channels));
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t place = places_[index(c)];
      if (place >= 0) out[index(o * channels + c)] = arranged[index(o * width() + place)];
    }
  }
  return out;
}

void SineRule::write(const kernels::KernelTable& kernels, std::span<const double> distances, float* rows) const {
  const std::int64_t count = std::ssize(distances);
  angles_.write(kernels, distances.data(), count, count, rows + pairs_, rows, width());
}

SineRows::SineRows(const SineRule& rule, std::pmr::memory_resource* memory)
    : rule_(rule),
      held_(index(kRows), kNone, memory),
      wanted_(index(kRows), memory),
      rows_(index(kRows * rule.width()), memory) {}

// A distance has the slot distance mod kRows. Only those whose slot holds another are made, as many at a time as lie
// together.
void SineRows::make(const kernels::KernelTable& kernels, std::int64_t low, std::int64_t count) {
  for (std::int64_t n = 0; n < count;) {
    const std::int64_t first = slot_of(low + n);
    std::int64_t missing = 0;
    while (n + missing < count && first + missing < kRows && held_[index(first + missing)] != low + n + missing) {
      wanted_[index(missing)] = static_cast<double>(low + n + missing);
      held_[index(first + missing)] = low + n + missing;
      ++missing;
    }
    if (missing > 0) rule_.write(kernels, std::span(wanted_).first(index(missing)), row(first));
    n += std::max<std::int64_t>(missing, 1);
  }
}

// Fills the rows from slot 0 on, and forgets what they held.
const float* SineRows::of(const kernels::KernelTable& kernels, std::span<const std::int64_t> distances) {
  std::ranges::fill(held_, kNone);
  std::ranges::copy(distances, wanted_.begin());
  rule_.write(kernels, std::span(wanted_).first(distances.size()), rows_.data());
  return rows_.data();
}

}  // namespace posenc::cpu
