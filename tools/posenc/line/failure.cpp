// A Failure, which ends a command with "posenc: TEXT" and an exit code.
#include "line/failure.h"

#include "line/formatted.h"

namespace posenc::tool {

Failure failure(int exit_code, const std::string& text) { return {formatted("posenc: {}\n", text), exit_code}; }

}  // namespace posenc::tool
