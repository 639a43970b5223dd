#include "base/pause.h"

#include <thread>

namespace posenc {

void pause() noexcept { std::this_thread::yield(); }

}  // namespace posenc
