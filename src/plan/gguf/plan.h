// From a GGUF file's header to the plan.
#pragma once

#include "io/files/byte_cursor.h"
#include "posenc/error.h"
#include "posenc/plan.h"
#include "posenc/read_plan.h"

namespace posenc::plan {

// Nothing is thrown. Of a stream the header is read and nothing behind it.
Result<Plan> read_gguf(io::ByteCursor& cursor, PlanSource source, const ReadOptions& options);

}  // namespace posenc::plan
