#include "base/pause.h"

#include <thread>

namespace posenc::inline v0_2 {

void pause() noexcept { std::this_thread::yield(); }

}  // namespace posenc::inline v0_2
