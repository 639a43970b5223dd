#include "table_speed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>

#include "posenc/rotary_table.h"

namespace posenc::tool {
namespace {

double nanoseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

// What an engine writes by hand: the angle in double, sincos of libm, rounded to float.
void fill_by_libm(const Frequencies& f, std::vector<float>& rows) {
  const std::size_t pairs = f.inv_freq.size();
  for (std::int64_t t = 0; t < kTimedPositions; ++t) {
    float* cos = rows.data() + static_cast<std::size_t>(t) * 2 * pairs;
    for (std::size_t p = 0; p < pairs; ++p) {
      double s = 0.0;
      double c = 0.0;
      ::sincos(static_cast<double>(t) * f.inv_freq[p], &s, &c);
      cos[p] = static_cast<float>(f.attention_factor * c);
      cos[pairs + p] = static_cast<float>(f.attention_factor * s);
    }
  }
}

// A table whose one value is looked at, so that making it cannot be left out.
void make_one(const RotaryLayout& layout, const Frequencies& f, Isa isa, volatile float& seen) {
  seen = make_table(layout, f, {.count = kTimedPositions, .isa = isa}).rows().back();
}

}  // namespace

std::vector<Contestant> measure_speed(const Rope& rope) {
  const Frequencies f = frequencies(rope);
  const RotaryLayout places = layout(rope);
  std::vector<float> rows(static_cast<std::size_t>(kTimedPositions * 2 * rope.pairs()));
  volatile float seen = 0.0F;

  std::vector<Contestant> contestants{{"libm", {}, {}}};
  std::vector<std::function<void()>> work{[&] {
    fill_by_libm(f, rows);
    seen = rows.back();
  }};
  for (const Isa isa : supported_isas()) {
    contestants.push_back({std::string(name(isa)), {}, {}});
    work.emplace_back([&, isa] { make_one(places, f, isa, seen); });
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
