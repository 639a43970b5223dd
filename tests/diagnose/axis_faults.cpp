// Tokens that have several coordinates, rotated by the wrong ones.
#include <algorithm>
#include <utility>

#include "diagnose/faults.h"

namespace posenc::test {
namespace {

template <typename Spoil>
Fault axis_fault(const std::string& name, const std::vector<PortFact>& facts, Spoil spoil) {
  const auto make = [spoil](const PortedPlan& plan, const Tensor& before, std::mt19937_64&) -> std::optional<Tensor> {
    Port port = plan.port;
    if (plan.axes < 2 || before.sizes.tokens < 8 || !spoil(port, plan)) return {};
    return rotated(port, before);
  };
  return {.name = name, .facts = facts, .make = make};
}

// The port at coordinates that are made of the plan's: `of(coordinate, axis, t)`.
template <typename Of>
void at(Port& port, const PortedPlan& plan, Of of) {
  const auto own = plan.coordinate;
  port.position = [own, of](std::size_t, std::size_t, std::size_t t, std::size_t axis) {
    return of(own(axis, t), axis, t);
  };
}

}  // namespace

std::vector<Fault> axis_faults() {
  std::vector<Fault> out;
  out.push_back(axis_fault("the first coordinate for all pairs", {PortFact::axes}, [](Port& port, const PortedPlan&) {
    std::ranges::fill(port.axis_of_pair, 0U);
    return true;
  }));
  out.push_back(axis_fault("h and w exchanged", {PortFact::axes}, [](Port& port, const PortedPlan& plan) {
    const std::size_t h = plan.axes - 2;
    for (std::size_t& axis : port.axis_of_pair) axis = axis == h ? h + 1 : axis == h + 1 ? h : axis;
    return true;
  }));
  out.push_back(
      axis_fault("sections in turn instead of in runs", {PortFact::axes}, [](Port& port, const PortedPlan& plan) {
        if (plan.name != "qwen2-vl") return false;
        // 16 t, 24 h and 24 w, one after the other while there are any.
        std::vector<std::size_t> left{16, 24, 24};
        std::size_t axis = 0;
        for (std::size_t& of : port.axis_of_pair) {
          while (left[axis] == 0) axis = (axis + 1) % 3;
          of = axis;
          --left[axis];
          axis = (axis + 1) % 3;
        }
        return true;
      }));
  out.push_back(
      axis_fault("sections in runs instead of in turn", {PortFact::axes}, [](Port& port, const PortedPlan& plan) {
        if (plan.name != "qwen3-vl") return false;
        std::ranges::sort(port.axis_of_pair);
        return true;
      }));
  out.push_back(axis_fault("24 t, 20 h and 20 w", {PortFact::axes}, [](Port& port, const PortedPlan& plan) {
    if (plan.name != "qwen2-vl") return false;
    for (std::size_t p = 0; p < port.axis_of_pair.size(); ++p) port.axis_of_pair[p] = p < 24 ? 0 : p < 44 ? 1 : 2;
    return true;
  }));
  out.push_back(axis_fault("all coordinates off by one", {PortFact::offset}, [](Port& port, const PortedPlan& plan) {
    at(port, plan, [](double x, std::size_t, std::size_t) { return x + 1; });
    return true;
  }));
  out.push_back(
      axis_fault("the last coordinate off by one", {PortFact::offset}, [](Port& port, const PortedPlan& plan) {
        const std::size_t last = plan.axes - 1;
        at(port, plan, [last](double x, std::size_t axis, std::size_t) { return axis == last ? x + 1 : x; });
        return true;
      }));
  out.push_back(axis_fault("an image counted as text", {PortFact::positions}, [](Port& port, const PortedPlan& plan) {
    at(port, plan, [](double, std::size_t, std::size_t t) { return static_cast<double>(t); });
    return true;
  }));
  out.push_back(axis_fault("an image rotated twice", {PortFact::rotation}, [](Port& port, const PortedPlan& plan) {
    at(port, plan, [](double x, std::size_t, std::size_t) { return 2 * x; });
    return true;
  }));
  out.push_back(axis_fault("shared frequencies instead of each axis's own", {PortFact::axes},
                           [](Port& port, const PortedPlan& plan) {
                             if (plan.name != "vision") return false;
                             port.inv_freq = plain_frequencies(10000, 80);
                             return true;
                           }));
  return out;
}

}  // namespace posenc::test
