// What ends a command before its work is done, where it is not the command line that is wrong. Thrown; main() writes
// the message and returns the code.
#pragma once

#include <string>

namespace posenc::tool {

struct Failure {
  std::string message;  // complete: "posenc: ...\n"
  int exit_code = 0;
};

// "posenc: TEXT"
Failure failure(int exit_code, const std::string& text);

}  // namespace posenc::tool
