// The numbers of a scheme's word, each with its default.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "line/formatted.h"
#include "plot/scheme_word.h"

namespace posenc::tool {

// A view of the word's numbers: the word must outlive it. All functions throw UsageError, naming the number.
class Numbers {
 public:
  explicit Numbers(const SchemeWord& word) : given_(word.numbers) {}

  // `otherwise` need not lie from `least` to `most`: -1 stands for "none" where only 0 and above can be given.
  std::int64_t whole(std::string_view name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const {
    return given_.whole(name, least, most).value_or(otherwise);
  }
  // At least 0.
  double real(std::string_view name, double otherwise) const { return given_.from_zero(name).value_or(otherwise); }
  double above_zero(std::string_view name, double otherwise) const {
    const double value = real(name, otherwise);
    if (value == 0.0) throw UsageError{formatted("{}: expected a number above 0, got 0", name)};
    return value;
  }
  // On when named.
  bool yes(std::string_view name) const {
    const std::string value = given_.text_or(name, "");
    if (!value.empty()) throw UsageError{formatted("{} is on when named, and takes no value", name)};
    return given_.has(name);
  }

 private:
  const Given& given_;
};

}  // namespace posenc::tool
