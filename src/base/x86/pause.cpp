// The pause of a spin loop on x86: PAUSE, which frees the other hyperthread and saves a memory-order mis-speculation at
// the end of the loop (Intel SDM vol. 2B).
#include "base/pause.h"

namespace posenc::inline v0_2 {

void pause() noexcept { __builtin_ia32_pause(); }

}  // namespace posenc::inline v0_2
