// What layers are made of besides attention: projections, norms, feed-forward and experts, in plain loops.
#pragma once

#include <optional>
#include <string>

#include "models/model.h"

namespace posenc::test {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

class Arithmetic {
 public:
  Arithmetic(const Model& model, std::optional<Roundings> roundings);

  const Wiring& wiring() const { return wiring_; }
  Rounder& round() { return round_; }

  bool has(const std::string& name) const { return weights_.contains(name); }
  const Tensor& weight(const std::string& name) const { return weights_.at(name); }

  // W x + b for rows of x; b where there is one.
  Numbers linear(const Numbers& x, const std::string& name);
  // Rows as wide as the weight.
  Numbers norm(const Numbers& x, const std::string& name);
  Numbers rms_norm(const Numbers& x, std::size_t width, const Numbers& weight, double epsilon);
  double activated(double x);

  // A perceptron, gated where it has a gate, or experts where it has a router.
  Numbers feed_forward(const Numbers& x, const std::string& at);

 private:
  Numbers perceptron(const Numbers& x, const std::string& at);
  Numbers experts(const Numbers& x, const std::string& at);

  Weights weights_;
  const Wiring& wiring_;
  Rounder round_;
};

double sigmoid(double x);
// a + scale b
Numbers sum(Numbers a, const Numbers& b, double scale = 1.0);
Numbers part_of(const Numbers& x, std::size_t first, std::size_t count);
void append(Numbers& to, const Numbers& from);

}  // namespace posenc::test
