// A call of attention, or of linear attention, whose outputs are weighed into one number, L = sum d_out out + sum d_lse
// lse: as a function of each of its tensors and numbers along a direction, and by reference::attend_backward or
// attend_linear_backward.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attend/scheme_call.h"
#include "posenc/feature_map.h"

namespace posenc::test {

// One thing that has a gradient: q, "table", "inv_freq".
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<double> direction;     // in which it is moved: normal numbers, the smaller the more they do
  std::vector<double> gradient{};    // by reference::attend_backward
  std::function<void(double)> move;  // to t times the direction from where it was

  double along() const;  // the gradient's product with the direction
};

class GradientCall {
 public:
  // Linear attention where there is a feature map, of a scheme that it has a place for.
  GradientCall(const SchemeCase& scheme, const Arrangement& arrangement, Places places, std::uint64_t seed,
               std::optional<FeatureMap> map = {});

  double loss();
  // All gradients at once, into parameters.
  void differentiate();
  // How far loss() may be from what it is in real numbers.
  double rounding();

  SchemeCall call;
  std::vector<Parameter> parameters;

 private:
  void add(std::string name, std::vector<std::int64_t> shape, double size, std::function<void(double)> move);
  void add_tensor(const std::string& name, const ConstTensorView& tensor, double size = 1.0);
  void add_learned();
  void add_number(const std::string& name, double& number);
  void add_slopes(const std::string& name, std::size_t term);
  void add_frequencies(const std::string& name, std::size_t rotation);
  void give_bias();
  void move_up();
  double feature_angle() const;
  std::vector<double> drawn(std::size_t count, double size);

  std::optional<FeatureMap> map_;
  Random random_;
  std::vector<double> bias_;
  Tensor d_out_;
  Tensor d_lse_;
  Tensor out_;
  Tensor lse_;
};

}  // namespace posenc::test
