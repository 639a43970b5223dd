// The angle kernel against loops of the C library: cos and sin of 64 pairs, per position.
//
// The loops do what models do: the product in double (or float), sincos, both values to float. Neither is exact, and
// beside zeros of cos and sin nothing is left of their result (docs/angles.md).
#include <math.h>  // sincos, sincosf: GNU

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "cpu/angles/turns.h"
#include "cpu/machine/machine.h"
#include "posenc/rotary_table.h"
#include "taking_turns.h"

namespace {

using posenc::bench::Candidate;

constexpr std::int64_t kPairs = 64;
constexpr int kRounds = 31;

// positions: 37 apart, a list and no range. x: the same in double. cos, sin: [count, kPairs].
struct Work {
  explicit Work(std::int64_t count) {
    for (std::int64_t t = 0; t < count; ++t) positions.push_back(37 * t);
    x.assign(positions.begin(), positions.end());
    cos.resize(static_cast<std::size_t>(count * kPairs));
    sin.resize(cos.size());
  }

  std::vector<std::int64_t> positions;
  std::vector<double> x;
  std::vector<float> cos;
  std::vector<float> sin;
};

// The product is rounded once, in double, so an angle is off by up to 2^-53 of itself.
void with_sincos(Work& w, const std::vector<double>& inv_freq) {
  for (std::size_t t = 0; t < w.x.size(); ++t) {
    for (std::size_t p = 0; p < kPairs; ++p) {
      double s = 0.0;
      double c = 0.0;
      sincos(w.x[t] * inv_freq[p], &s, &c);
      w.cos[t * kPairs + p] = static_cast<float>(c);
      w.sin[t * kPairs + p] = static_cast<float>(s);
    }
  }
}

// Angles::float32 as models compute it, but for the float steps of inv_freq.
void with_sincosf(Work& w, const std::vector<float>& inv_freq) {
  for (std::size_t t = 0; t < w.x.size(); ++t) {
    for (std::size_t p = 0; p < kPairs; ++p) {
      sincosf(static_cast<float>(w.x[t]) * inv_freq[p], &w.sin[t * kPairs + p], &w.cos[t * kPairs + p]);
    }
  }
}

// The kernel alone: frequencies as turns have been made before, and memory is there.
void with_kernel(Work& w, const posenc::cpu::Turns& turns, const posenc::kernels::KernelTable& table) {
  table.angles({.rows = std::ssize(w.x),
                .pairs = kPairs,
                .x = w.x.data(),
                .x_stride = 1,
                .near_limit = turns.near_limit,
                .hi = turns.hi.data(),
                .lo = turns.lo.data(),
                .lowest = turns.lowest.data(),
                .factor = 1.0,
                .cos = w.cos.data(),
                .sin = w.sin.data(),
                .out_stride = kPairs});
}

// cos_sin_into adds checks and frequencies to the kernel, cos_sin memory besides; make_table has positions that count.
void measure(const posenc::Rope& rope, std::int64_t count) {
  const std::vector<double> inv_freq = posenc::frequencies(rope).inv_freq;
  const std::vector<float> inv_freq_f32(inv_freq.begin(), inv_freq.end());
  const posenc::cpu::Turns turns = posenc::cpu::turns(inv_freq);
  Work w(count);
  std::vector<Candidate> candidates{{"sincos, double", [&] { with_sincos(w, inv_freq); }},
                                    {"sincosf", [&] { with_sincosf(w, inv_freq_f32); }}};
  for (const posenc::cpu::IsaKernels& isa : posenc::cpu::runnable_kernels()) {
    const std::string name(posenc::name(isa.isa));
    candidates.push_back({"kernel, " + name, [&w, &turns, isa] { with_kernel(w, turns, isa.table); }});
  }
  for (const posenc::Isa isa : posenc::supported_isas()) {
    const posenc::TableOptions options{.count = count, .isa = isa};
    const std::string name(posenc::name(isa));
    candidates.push_back(
        {"cos_sin_into, " + name, [&w, &rope, options] { cos_sin_into(rope, w.positions, w.cos, w.sin, options); }});
    candidates.push_back({"cos_sin, " + name, [&w, &rope, options] { (void)cos_sin(rope, w.positions, options); }});
    candidates.push_back({"make_table, " + name, [&rope, options] { (void)make_table(rope, options); }});
  }
  posenc::bench::take_turns(candidates, kRounds);
  std::printf("%lld positions of %lld pairs; times as fast as sincos in double, median [least, most] of %d rounds\n",
              static_cast<long long>(count), static_cast<long long>(kPairs), kRounds);
  posenc::bench::print(candidates, static_cast<double>(count), "position");
}

}  // namespace

int main() {
  const posenc::Rope rope{.pairing = posenc::Pairing::half, .head_dim = 2 * kPairs, .dim = 2 * kPairs, .base = 5e5};
  std::printf("%s\n", posenc::info().cpu.c_str());
  // A block whose outputs, 128 KiB, stay in the second cache, and 2 MiB.
  for (const std::int64_t count : {256, 4096}) measure(rope, count);
}
