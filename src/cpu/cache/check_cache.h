// A call of rotate_into_cache, checked: what remains is pointers, sizes and strides. plain_cache_call.h makes the same
// of the calls that need few checks.
#pragma once

#include <cstdint>
#include <string_view>

#include "cpu/cache/codes_view.h"
#include "cpu/call/heads_view.h"
#include "cpu/rotate/check_rotate.h"
#include "posenc/cache.h"
#include "posenc/rotate.h"

namespace posenc::cpu {

// Made once a call and read by all threads. The slots stay in CacheArgs.
struct CacheCall {
  bool rotates = false;  // there is a table
  RotateArgs rotating;   // of k, as if in place: nothing writes to it
  RotateCall rows;       // its rows; tensors[1] is k
  HeadsView v;           // likewise read
  HeadsView k_cache;     // written; `from` is null where there is nothing to store; of codes: places of bytes
  HeadsView v_cache;
  CodesView k_codes;  // where the cache is quantised
  CodesView v_codes;
  std::int64_t head_dim = 0;   // of k
  std::int64_t value_dim = 0;  // of v
  std::int64_t bytes = 0;      // that the call writes
};

// Throws Error "[where] ..." for whatever does not fit.
CacheCall check_cache(std::string_view where, const CacheArgs& args);

// Of keys of so many heads and channels. Throws Error likewise.
void check_norm(std::string_view where, const KeyNorm& norm, std::int64_t heads, std::int64_t head_dim);

}  // namespace posenc::cpu
