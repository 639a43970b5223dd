// One iteration of a loop that waits for another core: tells this core so (PAUSE on x86), and takes 10 to 50 ns. The
// folders x86 and portable implement it; CMake picks one.
#pragma once

namespace posenc::inline v0_2 {

void pause() noexcept;

}  // namespace posenc::inline v0_2
