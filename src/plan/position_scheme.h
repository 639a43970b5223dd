// Which scheme a stack follows, where its class has several and a key of the file chooses.
#pragma once

#include <string>

#include "plan/config_scope.h"

namespace posenc::plan {

struct PositionScheme {
  bool turns = true;  // each: as far as the family's row has it
  bool input = true;
  bool score = true;
  std::string from;
};

PositionScheme read_position_scheme(ConfigScope& scope);

}  // namespace posenc::plan
