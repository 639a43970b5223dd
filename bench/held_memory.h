// How much more memory the process holds while something runs than before it, at the most: by Linux's account.
#pragma once

#include <malloc.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace posenc::bench {

// A number of the account, in KiB.
inline std::int64_t held(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t number = 0;
    if (word == field + ":" && status >> number) return number;
  }
  return 0;
}

// In MiB. VmHWM is the most that the process has held since its record was cleared, with what it held before.
template <typename Run>
double most_held(const Run& run) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;  // forgets the highest
  const std::int64_t before = held("VmRSS");
  run();
  return static_cast<double>(held("VmHWM") - before) / 1024;
}

}  // namespace posenc::bench
