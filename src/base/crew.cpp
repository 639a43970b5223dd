// The workers of a thread pool: the state machine of base/crew.h, with futex-like waits of std::atomic and spinning
// before them. Memory order: the job is written before a word becomes `offered` (release) and read after it is seen
// (acquire); what a worker wrote is visible to the caller once its word is `idle` again.
#include "base/crew.h"

#include <signal.h>  // pthread_sigmask: POSIX

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <string_view>

#include "base/pause.h"

namespace posenc::inline v0_2 {
namespace {

enum State : int { kIdle, kAsleep, kOffered, kTaken, kAwaited, kStop };

using Clock = std::chrono::steady_clock;

constexpr int kPausesPerLook = 32;  // reading the clock takes as long as one or two pauses
// How long a caller looks at least for the end of a group before it sleeps, if workers are to sleep at once: groups are
// of one size, so the end of one is near when that of another has come.
constexpr std::chrono::nanoseconds kLeastAwait = std::chrono::microseconds(20);

// Until state is no longer `value`, or the time is up. Returns what it was last.
int spin_while(const std::atomic<int>& state, int value, std::chrono::nanoseconds limit) {
  int seen = state.load(std::memory_order_acquire);
  if (seen != value || limit <= limit.zero()) return seen;
  const Clock::time_point end = Clock::now() + limit;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      pause();
      seen = state.load(std::memory_order_acquire);
      if (seen != value) return seen;
    }
  } while (Clock::now() < end);
  return seen;
}

// While it lives, a thread that is started inherits a mask of every signal that is sent from outside: a program's
// handlers run on the program's threads. Faults stay open, or a handler that reports crashes would never see one.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

void name_this_thread(std::int64_t number) {
  std::array<char, 16> name{};  // Linux takes no more, the ending zero included
  constexpr std::string_view kPrefix = "posenc/";
  std::ranges::copy(kPrefix, name.begin());
  std::to_chars(name.data() + kPrefix.size(), name.data() + name.size() - 1, number);
  pthread_setname_np(pthread_self(), name.data());
}

}  // namespace

Crew::Crew(const ThreadPoolOptions& options) noexcept
    : workers_(new (std::nothrow) Worker[static_cast<std::size_t>(options.threads - 1)]),
      count_(workers_ == nullptr ? 0 : options.threads - 1),
      spin_(options.spin),
      placement_(options.keep_off_caller ? count_ : 0) {
  start();
}

void Crew::start() noexcept {
  const SignalsBlocked blocked;
  for (std::int64_t w = 0; w < count_; ++w) {
    Worker& worker = workers_[static_cast<std::size_t>(w)];
    worker.crew = this;
    worker.group = w + 1;
    const auto body = [](void* given) -> void* {
      Worker& own = *static_cast<Worker*>(given);
      name_this_thread(own.group);
      own.crew->work(own);
      return nullptr;
    };
    worker.started = pthread_create(&worker.thread, nullptr, body, &worker) == 0;
  }
}

void Crew::work(Worker& worker) noexcept {
  std::atomic<int>& state = worker.state;
  for (;;) {
    spin_while(state, kIdle, spin_);
    int seen = kOffered;
    if (state.compare_exchange_strong(seen, kTaken, std::memory_order_acquire)) {
      run_group(worker.group);
      if (state.exchange(kIdle, std::memory_order_acq_rel) == kAwaited) state.notify_one();
    } else if (seen == kStop) {
      return;
    } else if (state.compare_exchange_strong(seen, kAsleep, std::memory_order_acq_rel)) {
      state.wait(kAsleep, std::memory_order_acquire);
    }
  }
}

void Crew::run_group(std::int64_t group) const noexcept {
  job_.run(part_begin(job_.tasks, groups_, group), part_begin(job_.tasks, groups_, group + 1));
}

void Crew::await(Worker& worker) noexcept {
  std::atomic<int>& state = worker.state;
  if (spin_while(state, kTaken, std::max(spin_, kLeastAwait)) != kTaken) return;
  int seen = kTaken;
  if (state.compare_exchange_strong(seen, kAwaited, std::memory_order_acquire)) {
    state.wait(kAwaited, std::memory_order_acquire);
  }
}

void Crew::run(const Job& job) noexcept {
  job_ = job;
  groups_ = std::min(job.tasks, count_ + 1);
  for (std::int64_t w = 0; w < groups_ - 1; ++w) {
    Worker& worker = workers_[static_cast<std::size_t>(w)];
    if (worker.state.exchange(kOffered, std::memory_order_acq_rel) != kAsleep) continue;
    placement_.keep_off_this_core(worker.thread, worker.place);
    worker.state.notify_one();
  }
  run_group(0);
  for (std::int64_t w = groups_ - 2; w >= 0; --w) {
    Worker& worker = workers_[static_cast<std::size_t>(w)];
    int seen = kOffered;
    if (!worker.state.compare_exchange_strong(seen, kIdle, std::memory_order_acquire)) continue;
    if (worker.started) placement_.keep_off_this_core(worker.thread, worker.place);
    run_group(w + 1);
  }
  for (std::int64_t w = 0; w < groups_ - 1; ++w) await(workers_[static_cast<std::size_t>(w)]);
}

void Crew::stop() noexcept {
  for (std::int64_t w = 0; w < count_; ++w) {
    Worker& worker = workers_[static_cast<std::size_t>(w)];
    if (!worker.started) continue;
    if (worker.state.exchange(kStop, std::memory_order_acq_rel) == kAsleep) worker.state.notify_one();
    pthread_join(worker.thread, nullptr);
    worker.started = false;
  }
}

}  // namespace posenc::inline v0_2
