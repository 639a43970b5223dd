// How a signal is held: its handler only notes it. The write goes on until keep_going next asks came(), gives the file
// up and removes it; then the destructor raises the signal with what was its action before.
#include "tensors/held_signals.h"

#include <signal.h>  // sigaction: POSIX

#include <array>
#include <cstddef>

namespace posenc::tool {
namespace {

// What ends a process unless it is asked for, and is not the fault of what it did.
constexpr std::array kSignals{SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,   SIGALRM,
                              SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF};

// A handler may write little else. One for the process, as signal actions are: HeldSignals do not nest.
volatile sig_atomic_t received = 0;
// [kSignals] what was set when they were held.
std::array<struct sigaction, kSignals.size()> before;

extern "C" void note(int signal) { received = signal; }

}  // namespace

HeldSignals::HeldSignals() {
  received = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    // Ignored, SIGXFSZ makes write() fail with EFBIG, which the writer reports as any other error.
    action.sa_handler = kSignals[i] == SIGXFSZ ? SIG_IGN : note;
    ::sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

HeldSignals::~HeldSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
  if (received != 0) ::raise(static_cast<int>(received));
}

bool HeldSignals::came() noexcept { return received != 0; }

}  // namespace posenc::tool
