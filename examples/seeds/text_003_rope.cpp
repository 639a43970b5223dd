// Text 003, section 3.2, binary encoding, and section 5, RoPE in two codes. Channels count from 1 in section 5.
#include <posenc/properties.h>

#include <numbers>

#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

constexpr std::size_t kDim = 8;
constexpr double kPosition = 5;

double theta(std::size_t i) { return std::pow(10000.0, -2.0 * static_cast<double>(i) / kDim); }

Numbers bits(std::int64_t place) { return posenc::input_row(posenc::BinaryInput{}, 3, place); }

// The listing "naive": even and odd channels by their own formulas, then stacked and rearranged.
struct Naive {
  Numbers even, odd, out;
};
Naive naive(const Numbers& x) {
  Naive result;
  for (std::size_t p = 0; p < x.size() / 2; ++p) {
    const double c = std::cos(kPosition * theta(p));
    const double s = std::sin(kPosition * theta(p));
    result.even.push_back(c * x[2 * p] - s * x[2 * p + 1]);
    result.odd.push_back(s * x[2 * p] + c * x[2 * p + 1]);
    result.out.insert(result.out.end(), {result.even[p], result.odd[p]});
  }
  return result;
}

// The listing of transformers: x * cos + rotate_half(x) * sin.
Numbers by_halves(const Numbers& x) {
  Numbers out;
  for (std::size_t c = 0; c < kDim; ++c) {
    const double angle = kPosition * theta(c % (kDim / 2));
    out.push_back(x[c] * std::cos(angle) + (c < kDim / 2 ? -x[c + kDim / 2] : x[c - kDim / 2]) * std::sin(angle));
  }
  return out;
}

// A matrix of pairs of channels (a(p), b(p)): cos, -sin, sin, cos.
template <typename First, typename Second>
Numbers matrix(First&& a, Second&& b) {
  Numbers r(kDim * kDim);
  for (std::size_t p = 0; p < kDim / 2; ++p) {
    const double angle = kPosition * theta(p);
    r[a(p) * kDim + a(p)] = r[b(p) * kDim + b(p)] = std::cos(angle);
    r[a(p) * kDim + b(p)] = -std::sin(angle);
    r[b(p) * kDim + a(p)] = std::sin(angle);
  }
  return r;
}

void naive_code(Report& report, const Numbers& x) {
  const posenc::Rope rope = rope_of(Pairing::interleaved, kDim);
  const Numbers o = rotated(rope, x, kPosition);
  const char* by = "reference::rotate_pairwise";
  report.add({.item = "Theta_m",
              .what = "the frequency of the matrix's last pair",
              .text = {theta(kDim / 2)},
              .posenc = {posenc::frequencies(rope).inv_freq.back()},
              .by = "frequencies(rope).inv_freq",
              .errs = "d/2 pairs are theta_0 .. theta_(d/2-1); theta_(d/2) is none of them, here and below",
              .corrected = Numbers{theta(kDim / 2 - 1)}});
  const Naive by_text = naive(x);
  report.add({.item = "o_1 .. o_d", .what = "the product, multiplied out", .text = by_text.out, .posenc = o, .by = by});

  Numbers out(x.size());
  (void)posenc::reference::rotate(rope, {.out = posenc::tensor(out.data(), {1, 1, kDim}),
                                         .x = posenc::tensor(x.data(), {1, 1, kDim}),
                                         .positions = posenc::PositionRange{5}});
  report.add({.item = "listing, naive",
              .what = "x[..., ::2], x[..., 1::2], stack, rearrange",
              .text = by_text.out,
              .posenc = out,
              .by = "reference::rotate, Pairing::interleaved"});
  report.add({.item = "stacked",
              .what = "the upper row's second entry",
              .text = {o[0]},
              .posenc = {o[2]},
              .by = by,
              .errs = "the row is o_1, o_3, ..., o_(d-1); the text has o_1 twice",
              .corrected = Numbers{by_text.even[1]}});
  Numbers stacked = by_text.even;
  stacked.insert(stacked.end(), by_text.odd.begin(), by_text.odd.end());
  report.add({.item = "rearranged",
              .what = "the stacked rows transposed, then flattened",
              .text = transposed(stacked, kDim / 2),
              .posenc = o,
              .by = by});
  Numbers by_element_form;
  for (std::size_t c = 0; c < kDim; ++c) {
    const double angle = kPosition * theta(c / 2);
    by_element_form.push_back(std::cos(angle) * x[c] + std::sin(angle) * (c % 2 == 0 ? -x[c + 1] : x[c - 1]));
  }
  report.add({.item = "cos * x + sin * ..",
              .what = "by elements, with theta_(d/2-1) as the last",
              .text = by_element_form,
              .posenc = o,
              .by = by});
}

void code_of_transformers(Report& report, const Numbers& x) {
  const posenc::RotaryLayout halves = posenc::layout(rope_of(Pairing::half, kDim));
  const Numbers angles_5 = angles(rope_of(Pairing::half, kDim), kPosition);
  report.add({.item = "listing, LLaMA",
              .what = "rotate_half and apply_rotary_pos_emb of transformers",
              .text = by_halves(x),
              .posenc = posenc::reference::rotate_half(halves, x, angles_5),
              .by = "reference::rotate_half"});
  const Numbers right_angles(kDim / 2, std::numbers::pi / 2);
  report.add({.item = "sin's vector",
              .what = "-x_(d/2+1) .. -x_d, x_1 .. x_(d/2): a rotation by 90 degrees",
              .text = {-x[4], -x[5], -x[6], -x[7], x[0], x[1], x[2], x[3]},
              .posenc = posenc::reference::rotate_half(halves, x, right_angles),
              .by = "reference::rotate_half"});
  report.add({.item = "its matrix",
              .what = "the rotation matrix of rotate_half",
              .text = matrix([](auto p) { return 2 * p; }, [](auto p) { return 2 * p + 1; }),
              .posenc = posenc::reference::rotation_matrix(halves, angles_5),
              .by = "reference::rotation_matrix, Pairing::half",
              .errs = "the interleaved matrix is repeated; it is ((C, -S), (S, C)) of diagonal blocks",
              .corrected = matrix([](auto p) { return p; }, [](auto p) { return p + kDim / 2; })});
}

}  // namespace

void binary(Report& report) {
  for (const std::int64_t place : {0, 1, 2}) {
    constexpr const char* kItems[] = {"p_0 = (000)_2", "p_1 = (001)_2", "p_2 = (010)_2"};
    report.add({.item = kItems[place],
                .what = "in binary, d = 3",
                .text = {0, place == 2 ? 1.0 : 0.0, place == 1 ? 1.0 : 0.0},
                .posenc = bits(place),
                .by = "input_row(BinaryInput{}, 3, place)"});
  }
  const auto affine = posenc::measure_property("binary", posenc::Property::affine);
  report.add({.item = "binary: 2",
              .what = "property 2: what the best affine map leaves of a step, 512 places",
              .text = {0},
              .posenc = {affine.number},
              .by = "measure_property(\"binary\", affine)",
              .errs = "no affine map leads from each place to the next, from d = 3 on; 1/sqrt(3) in the limit",
              .said = "holds (0)"});
  double last = 0;
  try {
    while (bits(static_cast<std::int64_t>(last) + 1).size() == 3) ++last;
  } catch (const posenc::Error&) {  // beyond 2^channels - 1
  }
  report.add({.item = "2^d - 1",
              .what = "the last place of d = 3 bits",
              .text = {7},
              .posenc = {last},
              .by = "input_row(BinaryInput{}, 3, place)"});
  Numbers flips(3);
  for (std::int64_t place = 1; place < 8; ++place) {
    for (std::size_t c = 0; c < 3; ++c) flips[c] += std::abs(bits(place)[c] - bits(place - 1)[c]);
  }
  const auto fastest = static_cast<double>(std::max_element(flips.begin(), flips.end()) - flips.begin());
  report.add({.item = "p_(i,d) is fast",
              .what = "the index of the fastest channel, d = 3",
              .text = {3},
              .posenc = {fastest},
              .by = "input_row(BinaryInput{}, 3, place)",
              .errs = "channels count from 0, so it is p_(i,d-1)",
              .corrected = Numbers{3 - 1}});
  report.add({.item = "p_2 - p_1",
              .what = "[0, 1, -1]",
              .text = {0, 1, -1},
              .posenc = minus(bits(2), bits(1)),
              .by = "input_row(BinaryInput{}, 3, place)"});
}

void rope_in_two_codes(Report& report) {
  const Numbers x = sample(kDim, 71);
  naive_code(report, x);
  code_of_transformers(report, x);
}

}  // namespace seeds
