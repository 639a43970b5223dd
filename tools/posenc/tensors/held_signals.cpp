#include "tensors/held_signals.h"

#include <signal.h>  // sigaction: POSIX

#include <array>
#include <cstddef>

namespace posenc::tool {
namespace {

constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGHUP, SIGXFSZ};

volatile sig_atomic_t received = 0;
std::array<struct sigaction, kSignals.size()> before;

extern "C" void note(int signal) { received = signal; }

}  // namespace

HeldSignals::HeldSignals() {
  received = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
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
