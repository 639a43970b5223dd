// Times several ways of doing one thing in one process: round after round, each once, so that whatever disturbs the
// machine disturbs all of them. A round's ratio is taken within the round. Time is that of the calling thread on its
// processor, so that what other processes take does not count; where several threads work, wall-clock time.
//
// The benchmarks use this, and `posenc bench`.
#pragma once

#include <time.h>  // clock_gettime: POSIX

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace posenc::bench {

// run: what is timed. A benchmark keeps results alive itself, where the compiler could drop them.
struct Candidate {
  std::string name;
  std::function<void()> run;
  int calls = 1;                      // timed together: the clock takes a third of a microsecond
  std::function<void()> before = {};  // not timed: what brings the caches into the state that is measured
  std::vector<double> seconds = {};   // of one call, [rounds]
};

// Of some numbers, the upper median where they are even in number. Printed as "median [least, most]".
struct Spread {
  double least;
  double median;
  double most;
};

inline Spread spread(std::vector<double> values) {
  std::ranges::sort(values);
  return {values.front(), values[values.size() / 2], values.back()};
}

// For one thread. What a worker does is not in it.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// For several threads; needs idle cores.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds `rounds` times to each candidate's seconds. Each runs once, untimed, before the first round.
inline void take_turns(std::vector<Candidate>& candidates, int rounds, double (*seconds)() = thread_seconds) {
  for (Candidate& c : candidates) c.run();  // caches, page faults, clock
  for (int round = 0; round < rounds; ++round) {
    for (Candidate& c : candidates) {
      if (c.before) c.before();
      const double start = seconds();
      for (int call = 0; call < c.calls; ++call) c.run();
      c.seconds.push_back((seconds() - start) / c.calls);
    }
  }
}

// Time over another candidate's, round by round.
// 1: as fast as `over`; 2: takes twice as long.
inline Spread ratios(const Candidate& of, const Candidate& over) {
  std::vector<double> out;
  for (std::size_t i = 0; i < of.seconds.size(); ++i) out.push_back(of.seconds[i] / over.seconds[i]);
  return spread(out);
}

// Each candidate's time per unit, and how many times as fast as the first it is: median [least, most].
inline void print(const std::vector<Candidate>& candidates, double units, const char* unit) {
  for (const Candidate& c : candidates) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < c.seconds.size(); ++i) ratios.push_back(candidates.front().seconds[i] / c.seconds[i]);
    const Spread time = spread(c.seconds);
    const Spread ratio = spread(ratios);
    std::printf("  %-34s %9.2f ns/%s [%.2f, %.2f]   x %.2f [%.2f, %.2f]\n", c.name.c_str(), time.median / units * 1e9,
                unit, time.least / units * 1e9, time.most / units * 1e9, ratio.median, ratio.least, ratio.most);
  }
}

}  // namespace posenc::bench
