// The reason of the last error, for each thread, as errno is: posenc_last_error() of posenc/c.h.
#include "c/status.h"

namespace posenc::c {
namespace {

// One for each thread, as errno is.
std::string& reason_of_this_thread() noexcept {
  thread_local std::string reason;
  return reason;
}

}  // namespace

posenc_status keep(posenc_status status, std::string_view reason) noexcept {
  // No allocation in the common case: an empty reason clears, and a string keeps its room.
  std::string& kept = reason_of_this_thread();
  try {
    kept.assign(reason);
  } catch (...) {
    kept.clear();
    kept.append("out of memory");  // fits into the string itself
  }
  return status;
}

}  // namespace posenc::c

const char* posenc_last_error() { return posenc::c::reason_of_this_thread().c_str(); }
