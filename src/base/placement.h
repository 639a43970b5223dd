// Keeps workers off the core of the thread that they work for.
//
// Linux may put a thread that is woken on the core of whoever wakes it although another is free; in a virtual machine
// it often does, as a core that sleeps there looks taken. The thread then waits until the caller has done everything by
// itself. So a worker that is woken, or was late, is let on all its cores but the caller's.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstdint>

namespace posenc::inline v0_2 {

class Placement {
 public:
  // For so many workers, or none, which the calling thread starts, and which inherit its cores. Where these are not
  // more than the workers, each is left where it is.
  explicit Placement(std::int64_t workers) noexcept;

  struct Worker {
    int off = -1;                // the core that it is kept off; -1: none
    bool is_left_alone = false;  // somebody else has let it elsewhere, or the system has refused
  };
  // Off the core that the calling thread is on.
  void keep_off_this_core(pthread_t thread, Worker& worker) const noexcept;

 private:
  cpu_set_t cores_{};
  bool moves_;
};

}  // namespace posenc::inline v0_2
