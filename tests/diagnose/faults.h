// The table that diagnose() is judged by: plans, and what ports do wrong of them.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "diagnose/port.h"
#include "posenc/diagnose.h"

namespace posenc::test {

// A plan: what the library is told, and a port that does it right, each in its own words.
struct PortedPlan {
  std::string name;
  Rotate rotate;
  Plan plan;  // with other layers, where faults take theirs
  Port port;
  std::size_t channels = 0;
  std::size_t axes = 1;
};
std::vector<PortedPlan> ported_plans();

// What a fault is to be called. Empty: right.
struct Fault {
  std::string name;
  std::vector<PortFact> facts;  // any of these names it; none: nothing known names it, or it is right
  bool right = false;
  bool noise = false;  // after has nothing to do with before: cannot tell
  // Makes `after`; nothing where the fault does not apply to the plan.
  std::function<std::optional<Tensor>(const PortedPlan& plan, const Tensor& before, std::mt19937_64& random)> make;
  std::size_t sequences = 1;
};
std::vector<Fault> faults();

}  // namespace posenc::test
