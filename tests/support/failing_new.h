// Memory that runs out: link failing_new.cpp, which replaces operator new and delete, and say when. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace posenc::test {

// After so many calls of operator new the next one fails; with `all`, those after it too.
void fail_new(std::int64_t after, bool all);
// Whether one has failed since.
bool stop_failing_new();

}  // namespace posenc::test
