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
  // Of tokens with several coordinates: what the library is told, and the port does; else they count from the start.
  std::function<double(std::size_t axis, std::size_t t)> coordinate{};
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
  std::int64_t start = 0;  // of the first token
};
std::vector<Fault> faults();
std::vector<Fault> slip_faults();      // of code: slip_faults.cpp
std::vector<Fault> far_faults();       // where numbers end: far_faults.cpp
std::vector<Fault> axis_faults();      // of several coordinates: axis_faults.cpp
std::vector<Fault> reported_faults();  // to others' projects: reported_faults.cpp
std::vector<Fault> found_faults();     // by people who looked for what is not named: found_faults.cpp

}  // namespace posenc::test
