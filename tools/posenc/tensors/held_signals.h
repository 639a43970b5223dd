// Ctrl-C and its like, while a file is written: held until what is half written is gone, then let through.
//
// Before and after, a signal ends the process as it always does: nothing is on the disk then, or all of it.
#pragma once

namespace posenc::tool {

class HeldSignals {
 public:
  // SIGINT, SIGTERM, SIGHUP, SIGPIPE and others that end a process; those that are ignored (nohup) stay so. A file that
  // grows too large (SIGXFSZ) is an error of writing.
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  // Ends the process by the signal that came, if one did.
  ~HeldSignals();

  static bool came() noexcept;
};

}  // namespace posenc::tool
