#include "line/out_of_memory.h"

#include <unistd.h>

#include <exception>
#include <new>
#include <string_view>

#include "line/exit_code.h"

namespace posenc::tool {
namespace {

// Set once operator new has failed. Plain: what reads it is the end of the process.
bool new_has_failed = false;
std::terminate_handler usual_end = nullptr;

[[noreturn]] void note_failed_new() {
  new_has_failed = true;
  throw std::bad_alloc();
}

[[noreturn]] void end_of_process() {
  if (new_has_failed) ::_exit(out_of_memory());
  usual_end();
  ::_exit(kInternal);  // not reached: the usual one aborts
}

}  // namespace

int out_of_memory() noexcept {
  constexpr std::string_view kMessage = "posenc: not enough memory\n";
  const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  (void)written;  // there is no other place to say it
  return kNoMemory;
}

void end_without_memory_by_exit() noexcept {
  std::set_new_handler(note_failed_new);
  usual_end = std::set_terminate(end_of_process);
}

}  // namespace posenc::tool
