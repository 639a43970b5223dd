// Slips of code: what comes out is no rotation, or one by other angles than anybody meant.
#include <cmath>

#include "diagnose/faults.h"

namespace posenc::test {
namespace {

// cos and sin of one channel of a pair.
struct Turn {
  double c, s;
};

// Each pair of a port's channels through `of(a, b, turn of a, turn of b)`, which gives both new values.
// `channels`: which pair's angle each rotated channel has, by its number in the order of the port's pairing.
template <typename Of>
Fault slip(const std::string& name, const std::vector<PortFact>& facts, bool other_order, Of of,
           bool other_channels = false) {
  const auto make = [of, other_order, other_channels](const PortedPlan& plan, const Tensor& before,
                                                      std::mt19937_64&) -> std::optional<Tensor> {
    const Port& port = plan.port;
    // Tokens at position 0 alone show nothing of it.
    if (before.sizes.tokens < 3 || plan.axes > 1) return {};
    Tensor after = before;
    const std::size_t pairs = port.inv_freq.size();
    for (std::size_t s = 0; s < before.sizes.sequences; ++s) {
      for (std::size_t h = 0; h < before.sizes.heads; ++h) {
        for (std::size_t t = 0; t < before.sizes.tokens; ++t) {
          for (std::size_t p = 0; p < pairs; ++p) {
            const bool neighbours = port.interleaved != other_channels;
            const std::size_t a = neighbours ? 2 * p : p;
            const std::size_t b = neighbours ? a + 1 : a + pairs;
            const auto turn = [&](std::size_t channel) {
              const std::size_t own = p;
              const std::size_t other = neighbours ? channel % pairs : channel / 2;
              const double angle =
                  port.position(s, h, t, 0) * port.inv_freq[other_order || other_channels ? other : own];
              return Turn{port.factor * std::cos(angle), port.factor * std::sin(angle)};
            };
            const auto [x, y] =
                of(before.at(s, h, t, port.first + a), before.at(s, h, t, port.first + b), turn(a), turn(b));
            after.at(s, h, t, port.first + a) = x;
            after.at(s, h, t, port.first + b) = y;
          }
        }
      }
    }
    round_all(after);
    return after;
  };
  return {.name = name, .facts = facts, .make = make};
}

using Both = std::pair<double, double>;

}  // namespace

std::vector<Fault> slip_faults() {
  std::vector<Fault> out;
  const std::vector<PortFact> rotation{PortFact::rotation};
  out.push_back(slip("rotate_half without its minus", rotation, false, [](double a, double b, Turn x, Turn y) {
    return Both{a * x.c + b * x.s, b * y.c + a * y.s};
  }));
  out.push_back(slip("rotate_half with two minuses", rotation, false, [](double a, double b, Turn x, Turn y) {
    return Both{a * x.c - b * x.s, b * y.c - a * y.s};
  }));
  out.push_back(slip("in place, the second of the new first", rotation, false, [](double a, double b, Turn x, Turn y) {
    const double changed = a * x.c - b * x.s;
    return Both{changed, b * y.c + changed * y.s};
  }));
  out.push_back(slip("cos and sin exchanged", rotation, false, [](double a, double b, Turn x, Turn y) {
    return Both{a * x.s - b * x.c, b * y.s + a * y.c};
  }));
  out.push_back(slip("cos alone", rotation, false, [](double a, double b, Turn x, Turn y) {
    return Both{a * x.c, b * y.c};
  }));
  out.push_back(slip("added to the tensor", rotation, false, [](double a, double b, Turn x, Turn y) {
    return Both{a + a * x.c - b * x.s, b + b * y.c + a * y.s};
  }));
  out.push_back(
      slip("cos and sin in the other order", {PortFact::pairing}, true, [](double a, double b, Turn x, Turn y) {
        return Both{a * x.c - b * x.s, b * y.c + a * y.s};
      }));
  out.push_back(slip(
      "the other pairing's rotation, this one's cos and sin", {PortFact::pairing}, false,
      [](double a, double b, Turn x, Turn y) {
        return Both{a * x.c - b * x.s, b * y.c + a * y.s};
      },
      true));
  return out;
}

}  // namespace posenc::test
