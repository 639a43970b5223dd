// The pause of a spin loop where there is no instruction for it: gives the core to another thread.
#include "base/pause.h"

#include <thread>

namespace posenc::inline v0_2 {

void pause() noexcept { std::this_thread::yield(); }

}  // namespace posenc::inline v0_2
