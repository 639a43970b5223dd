// AMX's tiles are the operating system's to grant (Linux, Documentation/arch/x86/xstate.rst).
#pragma once

namespace posenc::cpu {

// Asks for the whole process. No is the answer of a kernel that does not know of tiles, and where a thread has an
// alternate signal stack that their 8 KiB would not fit on; once they are granted, it is such a stack that is refused.
bool tiles_are_granted();

}  // namespace posenc::cpu
