// MODEL as a command was given it: the word itself, and what --set changes of its plan. Every command that takes a
// model holds one of these; plan_of (line/model_argument.h) makes the plan.
#pragma once

#include <string>
#include <vector>

namespace posenc::tool {

struct ModelWord {
  std::string name;                // a path, the name of a preset, or - for standard input
  std::vector<std::string> set{};  // the words of each --set, in order (posenc/override_plan.h)
  std::string flag = "--set";      // as messages call it
};

}  // namespace posenc::tool
