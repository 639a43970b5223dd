// --threads, --isa and --products: what of the machine a command may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "line/command_spec.h"
#include "posenc/attend.h"
#include "posenc/info.h"
#include "posenc/parallel.h"

namespace posenc::tool {

OptionSpec threads_option(const std::string& left_out);  // what holds without it
OptionSpec isa_option();
OptionSpec products_option();

std::optional<std::int64_t> threads_given(const Given& given);
// Throws UsageError for an instruction set that this machine does not have.
Isa isa_given(const Given& given);
Products products_given(const Given& given);

// What was allowed, or floats where the instruction set has no products of bfloat16.
Products products_on(Isa isa, Products allowed);

// As many threads as were asked for, as calls take them; the process's own pool where none were.
class AskedThreads {
 public:
  explicit AskedThreads(std::optional<std::int64_t> threads) : threads_(threads.value_or(0)) {
    if (threads_ > 1) pool_.emplace(ThreadPoolOptions{.threads = threads_});
  }
  const ThreadPool* pool() const { return pool_ ? &*pool_ : nullptr; }  // null: at most one was asked for
  Parallel parallel() const { return pool_ ? Parallel{.executor = pool_->executor()} : Parallel{.threads = threads_}; }

 private:
  std::int64_t threads_;
  std::optional<ThreadPool> pool_;
};

}  // namespace posenc::tool
