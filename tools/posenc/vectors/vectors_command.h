// `posenc vectors`: a layer's golden vectors, written to a directory; `posenc check`: a port's outputs held to them.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code: 0, or 3 where the report cannot be printed. Throws UsageError (2) and Failure (3, 4); nothing is
// written then.
int run_vectors(const VectorsArguments& arguments);

// The exit code: 0 where the port passes, 1 where it does not. Throws Failure (3, 4).
int run_check(const CheckArguments& arguments);

}  // namespace posenc::tool
