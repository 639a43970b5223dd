// rotate_into_cache() of posenc/cache.h: QK norm, RoPE and the store into a contiguous or paged KV cache in one pass,
// rows shared among threads. The call is plain (plain_cache_call.h) or checked in full (check_cache.h).
#include <vector>

#include "cpu/cache/cache_rows.h"
#include "cpu/cache/check_cache.h"
#include "cpu/cache/grouped_keys.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/row_runs.h"
#include "cpu/machine/dispatch.h"
#include "cpu/rotate/rotate_block.h"
#include "posenc/cache.h"

namespace posenc::inline v0_2 {

bool rotate_into_cache(const CacheArgs& args) {
  constexpr const char* kWhere = "rotate_into_cache";
  const cpu::CacheCall call = cpu::check_cache(kWhere, args);
  const kernels::KernelTable& kernels = cpu::kernels_for(kWhere, args.isa);
  if (args.slots.empty() || call.bytes == 0) return true;
  const std::int64_t bytes_of_row = cpu::bytes_of_row(call.rows, call.bytes);
  cpu::KeepGoing keep_going(args.keep_going);
  const bool is_grouped = call.k_codes.facts != nullptr && call.k_codes.by_channel();
  std::vector<float> grouped(is_grouped ? args.slots.size() * static_cast<std::size_t>(call.k_codes.heads) *
                                              static_cast<std::size_t>(call.head_dim)
                                        : 0);
  float* const rows_of_groups = is_grouped ? grouped.data() : nullptr;
  const auto store = [&](std::int64_t begin, std::int64_t end) {
    cpu::CacheRows rows(args, call, kernels);
    cpu::PacedKeepGoing may(keep_going);
    if (!call.rotates) {
      for (std::int64_t row = begin; row < end && may(bytes_of_row); ++row) rows.store(row, nullptr, rows_of_groups);
      return;
    }
    // Not an optional, made only where keys rotate: GCC 12 fills the 19 KiB of one with zeros, half of a call's time.
    cpu::RotateBlock block(call.rotating, call.rows, kernels);
    cpu::for_runs(call.rotating, call.rows, begin, end, block.rows(),
                  [&](std::int64_t s, std::int64_t first, std::int64_t count) {
                    if (!may(count * bytes_of_row)) return;
                    block.fill(s, first, count);
                    const std::int64_t row = cpu::sequence(call.rotating, call.rows, s).first + first;
                    for (std::int64_t t = 0; t < count; ++t) rows.store(row + t, block.cos() + t, rows_of_groups);
                  });
  };
  // On this thread where one would take memory from the heap: what fails there is thrown to the caller, on another
  // thread it would end the process (the body of for_parts is noexcept).
  const bool here =
      cpu::CacheRows::allocates(args, call) || (call.rotates && cpu::RotateBlock::allocates(call.rotating));
  cpu::for_parts(call.rotating, call.rows, call.bytes, here, store);
  if (!keep_going.answer()) return false;
  if (is_grouped) cpu::store_groups(args, call, kernels, grouped.data());
  return true;
}

}  // namespace posenc::inline v0_2
