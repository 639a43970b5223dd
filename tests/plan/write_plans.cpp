// Writes the random plans as JSON into a directory, one file each, for validate_schema.py: write_plans DIRECTORY.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "plan/random_plan.h"
#include "posenc/plan.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_plans DIRECTORY\n";
    return 2;
  }
  for (std::uint32_t seed = 0; seed < posenc::test::kRandomPlans; ++seed) {
    const auto path = std::filesystem::path(argv[1]) / ("plan-" + std::to_string(seed) + ".json");
    std::ofstream file(path, std::ios::binary);
    file << posenc::to_json(posenc::test::RandomPlan(seed).plan());
    if (!file.flush()) {
      std::cerr << "cannot write " << path << '\n';
      return 3;
    }
  }
  return 0;
}
