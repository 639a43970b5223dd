// How near a suite comes to its bounds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace posenc::test {

// The largest observed / bound of a suite.
class ErrorRatio {
 public:
  explicit ErrorRatio(std::string suite) : suite_(std::move(suite)) {}

  void add(double observed, double bound, std::string_view where) {
    const double ratio = observed == 0 ? 0.0 : observed / bound;
    if (std::isnan(largest_)) return;  // no later one hides it
    if (!(ratio <= largest_)) {        // a NaN too
      largest_ = ratio;
      where_ = where;
    }
  }

  // Prints the largest ratio and expects it in [least, 1].
  void expect(double least = 0.01) const {
    std::printf("[  ratio   ] %s: %.3f at %s\n", suite_.c_str(), largest_, where_.c_str());
    EXPECT_LE(largest_, 1.0) << suite_ << " at " << where_;
    EXPECT_GE(largest_, least) << suite_ << ": the bound is too loose to see a mistake";
  }

 private:
  std::string suite_;
  std::string where_ = "nowhere";
  double largest_ = 0.0;
};

}  // namespace posenc::test
