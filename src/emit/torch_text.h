// What Triton's file shares with torch's: tables are made by torch there too.
#pragma once

#include "emit/python_like.h"

namespace posenc::code {

Spelling torch_spelling(const Expr& expr);

// inv_freq() and cos_sin().
void add_torch_table(Lines& out, const Recipe& recipe);

}  // namespace posenc::code
