#include "base/pause.h"

namespace posenc {

void pause() noexcept { __builtin_ia32_pause(); }

}  // namespace posenc
