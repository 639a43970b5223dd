// A crew behind one atomic word that says who has it; fork(2) is noticed by pthread_atfork(3), after which the child's
// first run makes threads of its own (a forked child has only the thread that called fork).
#include "base/pool.h"

#include <pthread.h>

#include <new>
#include <utility>

namespace posenc::inline v0_2 {
namespace {

// 1, and one more in each generation of forked children.
std::atomic<std::uint64_t> generation{1};

// When the library is loaded and not at a first use: a fork while another thread is at a first use would leave the
// child with one that never ends. It fails only for want of memory, and then a child would wait for its parent's
// workers: so without it there are none (see enter).
const bool forks_are_counted =
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); }) == 0;

}  // namespace

bool Pool::enter() noexcept {
  const std::uint64_t own = generation.load(std::memory_order_relaxed);
  std::uint64_t seen = holder_.load(std::memory_order_relaxed);
  if (seen == own || !forks_are_counted) return false;
  return holder_.compare_exchange_strong(seen, own, std::memory_order_acquire);
}

void Pool::leave() noexcept { holder_.store(0, std::memory_order_release); }

Crew* Pool::crew(const ThreadPoolOptions& options) noexcept {
  const std::uint64_t own = generation.load(std::memory_order_relaxed);
  if (crew_ != nullptr && crew_generation_ == own) return crew_;
  delete std::exchange(crew_, nullptr);  // in a forked child; its workers stayed in the parent
  crew_ = new (std::nothrow) Crew(options);
  crew_generation_ = own;
  return crew_;
}

void Pool::run(const ThreadPoolOptions& options, const Job& job) noexcept {
  if (options.threads < 2 || job.tasks < 2 || !enter()) return job.run(0, job.tasks);
  if (Crew* const workers = crew(options)) {
    workers->run(job);
  } else {
    job.run(0, job.tasks);
  }
  leave();
}

void Pool::close() noexcept {
  if (!enter()) return;  // and never left
  if (crew_ != nullptr && crew_generation_ == generation.load(std::memory_order_relaxed)) crew_->stop();
  delete std::exchange(crew_, nullptr);
}

}  // namespace posenc::inline v0_2
