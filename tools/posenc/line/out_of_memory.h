// The end of a process that gets no memory: one line on standard error, one exit code, and nothing allocated for
// either.
#pragma once

namespace posenc::tool {

// Writes the message; returns kNoMemory.
int out_of_memory() noexcept;

// Makes the process end so where an exception cannot: in the constructors of static objects (CLI11 has some that
// allocate), and where there is no memory for the exception itself. Called before those constructors.
void end_without_memory_by_exit() noexcept;

}  // namespace posenc::tool
