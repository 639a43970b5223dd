// A thread pool: a crew (base/crew.h) that starts when it is first needed, has one user at a time, and is made anew in
// a forked child. Whoever finds it taken, by another thread or by its own caller, does the work alone: nothing waits,
// so nested and concurrent calls cannot deadlock.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/crew.h"

namespace posenc::inline v0_2 {

// Trivially destructible, so that the one of the process may be used for as long as the process runs: by destructors of
// static objects too.
class Pool {
 public:
  constexpr Pool() noexcept = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Does the job on options.threads threads, at least 1, the calling one among them; in order and on that one alone
  // while another run has the workers, and when none can be had. The options are the same in every call.
  void run(const ThreadPoolOptions& options, const Job& job) noexcept;
  // Ends the workers. Later runs have none. Does nothing while a run is under way.
  void close() noexcept;

 private:
  bool enter() noexcept;
  void leave() noexcept;
  Crew* crew(const ThreadPoolOptions& options) noexcept;  // null without memory for it

  // 0, or the generation (below) of the process in which a run has the workers. That of an ancestor is nobody's: the
  // thread that would set it back to 0 was not copied by the fork.
  std::atomic<std::uint64_t> holder_{0};
  // What follows belongs to the holder.
  Crew* crew_ = nullptr;
  std::uint64_t crew_generation_ = 0;  // of the process that made the crew
};

}  // namespace posenc::inline v0_2
