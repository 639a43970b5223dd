#include "base/pause.h"

namespace posenc::inline v0_2 {

void pause() noexcept { __builtin_ia32_pause(); }

}  // namespace posenc::inline v0_2
