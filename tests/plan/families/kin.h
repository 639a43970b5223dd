// A model type, its small config of our own, and the summary (plan_summary.h) of the plan that must come of it.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace posenc::test {

struct Kin {
  std::string_view type;
  std::string_view sizes;
  std::string_view own;  // keys beside the sizes, each with a comma before it
  std::string_view expected;
};
inline void PrintTo(const Kin& kin, std::ostream* out) { *out << kin.type << kin.own; }

inline std::string config(std::string_view type, std::string_view sizes, std::string_view own) {
  std::string text = "{\"model_type\": \"";
  text.append(type).append("\", ").append(sizes).append(own).append("}");
  return text;
}
inline std::string config(const Kin& kin) { return config(kin.type, kin.sizes, kin.own); }

}  // namespace posenc::test
