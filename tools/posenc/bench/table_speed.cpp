// posenc demo: cos and sin of 4096 positions by every instruction set and by libm, into the same buffers in turn.
#include "bench/table_speed.h"

#include <cmath>
#include <cstddef>

#include "posenc/rotary_table.h"

namespace posenc::tool {
namespace {

struct Buffers {
  std::vector<std::int64_t> positions;
  std::vector<float> cos;  // [positions, pairs]
  std::vector<float> sin;
};

// Positions spread evenly below `length`: libm is quicker where angles are small.
Buffers buffers(std::int64_t pairs, std::int64_t length) {
  Buffers made;
  for (std::int64_t t = 0; t < kTimedPositions; ++t) made.positions.push_back(t * length / kTimedPositions);
  made.cos.resize(static_cast<std::size_t>(kTimedPositions * pairs));
  made.sin.resize(made.cos.size());
  return made;
}

// What an engine writes by hand: the angle in double, sincos of libm, rounded to float.
void fill_by_libm(const Frequencies& f, Buffers& made) {
  const std::size_t pairs = f.inv_freq.size();
  for (std::size_t t = 0; t < made.positions.size(); ++t) {
    for (std::size_t p = 0; p < pairs; ++p) {
      double s = 0.0;
      double c = 0.0;
      ::sincos(static_cast<double>(made.positions[t]) * f.inv_freq[p], &s, &c);
      made.cos[t * pairs + p] = static_cast<float>(f.attention_factor * c);
      made.sin[t * pairs + p] = static_cast<float>(f.attention_factor * s);
    }
  }
}

}  // namespace

std::vector<Contestant> measure_speed(const Rope& rope, std::int64_t length) {
  const Frequencies f = frequencies(rope);
  Buffers made = buffers(rope.pairs(), length);

  // First, as what the others are compared with.
  std::vector<bench::Candidate> candidates{{"libm", [&] { fill_by_libm(f, made); }}};
  for (const Isa isa : supported_isas()) {
    candidates.push_back(
        {std::string(name(isa)), [&, isa] { cos_sin_into(rope, made.positions, made.cos, made.sin, {.isa = isa}); }});
  }
  bench::take_turns(candidates, kRounds);

  const double angles = static_cast<double>(kTimedPositions * rope.pairs());
  std::vector<Contestant> contestants;
  for (const bench::Candidate& c : candidates) {
    // From seconds of all angles to nanoseconds of one.
    const auto [least, median, most] = bench::spread(c.seconds);
    const double unit = 1e9 / angles;
    contestants.push_back({c.name, {least * unit, median * unit, most * unit}, bench::ratios(candidates.front(), c)});
  }
  return contestants;
}

}  // namespace posenc::tool
