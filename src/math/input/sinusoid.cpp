// Sines and cosines of the position. Attention is all you need, arXiv 1706.03762, 3.5.
//
//   PE(t, 2p) = sin(t w_p),  PE(t, 2p + 1) = cos(t w_p),  w_p = 10000^(-2p/d)
// or, by channel: PE(t, c) = sin(t / 10000^(c/d)) for even c, cos(t / 10000^((c-1)/d)) for odd c: the same numbers.
//
// In the wild there are six, and a checkpoint needs its own:
//   convention     w_p                  channels                                               odd d
//   paper          10000^(-2p/d)        sine and cosine in turn (XLM, DistilBERT, SpeechT5)    a last sine
//   marian         10000^(-2p/d)        sines, then cosines (Marian, Pegasus, RoFormer)        one sine more
//   xlnet          10000^(-2p/d)        sines, then cosines; t is a distance, from n to -n     none
//   tensor2tensor  10000^(-p/(d/2-1))   sines, then cosines (fairseq, M2M-100, Speech2Text)    a last 0
//   musicgen       10000^(-p/(d/2-1))   cosines, then sines                                    a last 0
//   whisper        10000^(-p/(d/2-1))   sines, then cosines                                    none
// Tensor2Tensor's ladder ends at 1/10000 exactly, the paper's one step before it. fairseq and its heirs count from
// padding_idx + 1 (the offset) and put zeros in row padding_idx; fairseq2 counts angles from 0 behind that row.
// For d = 2 or 3 the longer ladder has one rung, 1 (Tensor2Tensor); fairseq divides 0 by 0 there.
#include "math/input/sinusoid.h"

#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "posenc/input.h"

namespace posenc::math {
namespace {

constexpr double kBase = 10000.0;

double inv_freq(SinusoidConvention convention, std::int64_t channels, std::int64_t pair) {
  const auto p = static_cast<double>(pair);
  if (!ends_at_base(convention)) return std::pow(kBase, -2.0 * p / static_cast<double>(channels));
  const std::int64_t last = channels / 2 - 1;
  return pair == 0 ? 1.0 : std::pow(kBase, -p / static_cast<double>(last));
}

}  // namespace

bool ends_at_base(SinusoidConvention convention) {
  return convention == SinusoidConvention::tensor2tensor || convention == SinusoidConvention::musicgen ||
         convention == SinusoidConvention::whisper;
}

Sinusoid sinusoid(SinusoidConvention convention, std::int64_t channels, std::int64_t channel) {
  using Wave = Sinusoid::Wave;
  if (convention == SinusoidConvention::paper) {
    return {channel % 2 == 0 ? Wave::sine : Wave::cosine, inv_freq(convention, channels, channel / 2)};
  }
  const std::int64_t half = ends_at_base(convention) ? channels / 2 : (channels + 1) / 2;
  if (ends_at_base(convention) && channel == 2 * half) return {};
  const bool first = channel < half;
  const bool sine = first != (convention == SinusoidConvention::musicgen);
  return {sine ? Wave::sine : Wave::cosine, inv_freq(convention, channels, first ? channel : channel - half)};
}

std::optional<Problem> check_sinusoid_channels(SinusoidConvention convention, std::int64_t channels) {
  if (auto problem = check_channels(channels)) return problem;
  const bool needs_pairs = convention == SinusoidConvention::xlnet || convention == SinusoidConvention::whisper;
  if (!needs_pairs || channels % 2 == 0) return {};
  return Problem{"channels", "be even in this convention", formatted("{}", channels)};
}

}  // namespace posenc::math

namespace posenc::inline v0_2 {
namespace {

constexpr double kMostExact = 9007199254740992.0;  // 2^53, up to which every whole number is a double

// Tables with an end have whole rows.
void require_row(const SinusoidalInput& scheme, double place) {
  if (!(std::abs(place) <= kMostExact)) {
    throw Error("input_row", {"place", "be finite and at most 2^53", formatted("{}", place)});
  }
  if (!scheme.positions) return;
  const double row = place + static_cast<double>(scheme.offset);
  if (row >= 0 && row < static_cast<double>(*scheme.positions) && row == std::floor(row)) return;
  throw Error("input_row",
              {"place", formatted("find one of the table's {} rows, place + {},", *scheme.positions, scheme.offset),
               formatted("{}", place)});
}

bool is_padding(const SinusoidalInput& scheme, double place) {
  return scheme.convention == SinusoidConvention::tensor2tensor && scheme.offset > 0 && place == -1.0;
}

}  // namespace

std::vector<double> input_row(const SinusoidalInput& scheme, std::int64_t channels, double place) {
  if (auto problem = math::check_sinusoid_channels(scheme.convention, channels)) throw Error("input_row", *problem);
  require_row(scheme, place);
  std::vector<double> row(static_cast<std::size_t>(channels), 0.0);
  if (is_padding(scheme, place)) return row;
  const double t = place + static_cast<double>(scheme.offset);
  for (std::int64_t c = 0; c < channels; ++c) {
    const math::Sinusoid wave = math::sinusoid(scheme.convention, channels, c);
    const double angle = t * wave.inv_freq;
    if (wave.wave == math::Sinusoid::Wave::sine) row[static_cast<std::size_t>(c)] = std::sin(angle);
    if (wave.wave == math::Sinusoid::Wave::cosine) row[static_cast<std::size_t>(c)] = std::cos(angle);
  }
  return row;
}

}  // namespace posenc::inline v0_2
