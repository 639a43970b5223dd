// Schemes of the input stage from the command line.
#pragma once

#include "plot/scheme_word.h"
#include "posenc/schemes.h"

namespace posenc::tool {

// "sinusoidal,convention=marian,offset=2", "integer,normalised", "binary". Throws UsageError.
InputScheme read_input_scheme(const SchemeText& scheme);

}  // namespace posenc::tool
