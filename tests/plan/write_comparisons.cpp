// Writes comparisons of random plans as JSON into a directory, one file each, for validate_schema.py:
// write_comparisons DIRECTORY. Every plan is compared with itself changed in a few places, and with another one.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "plan/compare/changed_plan.h"
#include "plan/random_plan.h"
#include "posenc/compare.h"

namespace {

bool write(const std::filesystem::path& path, const posenc::Comparison& comparison) {
  std::ofstream file(path, std::ios::binary);
  file << posenc::to_json(comparison);
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_comparisons DIRECTORY\n";
    return 2;
  }
  using posenc::test::RandomPlan;
  for (std::uint32_t seed = 0; seed < posenc::test::kRandomPlans; ++seed) {
    const posenc::Plan plan = RandomPlan(seed).plan();
    const posenc::Plan other = RandomPlan(seed + posenc::test::kRandomPlans).plan();
    const std::filesystem::path folder(argv[1]);
    const bool written = write(folder / ("other-" + std::to_string(seed) + ".json"), compare(plan, other)) &&
                         write(folder / ("rotated-" + std::to_string(seed) + ".json"),
                               compare(plan, posenc::test::with_other_rotations(plan)));
    if (!written) {
      std::cerr << "cannot write into " << folder << '\n';
      return 3;
    }
  }
  return 0;
}
