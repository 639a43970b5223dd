// arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA) by syscall(2): AMX's tile registers for this process (Linux,
// Documentation/arch/x86/xstate.rst).
#include "cpu/machine/x86/tile_permission.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace posenc::cpu {

bool tiles_are_granted() {
#if defined(SYS_arch_prctl)
  constexpr long kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM of Linux, which older headers lack
  constexpr long kTileData = 18;     // the state component
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace posenc::cpu
