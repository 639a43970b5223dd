#include "table_speed.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <functional>

#include "posenc/rotary_table.h"

namespace posenc::tool {
namespace {

// Of this process's own processor time, which other work on the machine does not lengthen. Its unit, a microsecond, is
// below a hundredth of the shortest piece timed.
double nanoseconds(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

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

  std::vector<Contestant> contestants{{"libm", {}, {}}};
  std::vector<std::function<void()>> work{[&] { fill_by_libm(f, made); }};
  for (const Isa isa : supported_isas()) {
    contestants.push_back({std::string(name(isa)), {}, {}});
    work.emplace_back([&, isa] { cos_sin_into(rope, made.positions, made.cos, made.sin, {.isa = isa}); });
  }

  for (const auto& once : work) once();  // warm
  std::vector<std::vector<double>> times(work.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t k = 0; k < work.size(); ++k) {
      times[k].push_back(nanoseconds(work[k]) / static_cast<double>(kTimedPositions * rope.pairs()));
    }
  }
  for (std::size_t k = 0; k < work.size(); ++k) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < times[k].size(); ++round) ratios.push_back(times[0][round] / times[k][round]);
    contestants[k].nanoseconds = spread(times[k]);
    contestants[k].over_libm = spread(ratios);
  }
  return contestants;
}

}  // namespace posenc::tool
