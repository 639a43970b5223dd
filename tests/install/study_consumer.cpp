// What somebody else's program does with posenc::study. Exits with 0 when every answer is right.
#include <posenc/posenc.h>
#include <posenc/study.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

bool right(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "wrong: %s\n", what);
  return holds;
}

// Both libraries at work: the property is measured on posenc's reference.
bool property_is_right() {
  return right(posenc::measure_property("rope", posenc::Property::relative).judgement == posenc::Judgement::passes,
               "RoPE's scores depend on the distance");
}

// Thrown in the study, caught by the type that posenc has.
bool error_is_caught() {
  try {
    posenc::measure_property("no such scheme", posenc::Property::relative);
  } catch (const posenc::Error&) {
    return true;
  }
  return right(false, "no Error for a scheme that does not exist");
}

bool score_is_right() {
  const std::vector<double> ones{1, 1};
  const std::vector<double> w{1, 0};
  const std::vector<double> beta{2};  // a reflection: the first channel's sign changes
  return right(posenc::reference::path_score(ones, ones, w, beta) == 0.0, "PaTH's score over one reflection");
}

}  // namespace

int main() { return property_is_right() && error_is_caught() && score_is_right() ? 0 : 1; }
