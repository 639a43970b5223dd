// One turn of a loop that waits for another core: tells this core so, and takes 10 to 50 ns.
#pragma once

namespace posenc::inline v0_2 {

void pause() noexcept;

}  // namespace posenc::inline v0_2
