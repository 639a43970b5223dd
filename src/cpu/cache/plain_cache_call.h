// The fast path of rotate_into_cache: the calls that an engine makes for the new token of each layer (decode), whose
// checks take a few comparisons.
//
// Keys of rank 3, rotated by one held table with one axis; values likewise, or none; caches whose channels, heads, rows
// and blocks stand in this order in memory; slots that ascend. Keys may have a norm (check_norm.cpp looks at it).
// check_cache.h looks at every other call, and alone says what is wrong with one. A call that passes here passes there
// too, and becomes the same CacheCall (tests/rotate/plain_cache_call_test.cpp).
#pragma once

#include "cpu/cache/check_cache.h"
#include "posenc/cache.h"

namespace posenc::cpu {

// Whether the call is one of these and has nothing wrong with it but, at most, its norm and `parallel`.
bool is_plain(const CacheArgs& args) noexcept;

// Of a plain call.
void plain_cache_call(const CacheArgs& args, CacheCall& call) noexcept;

}  // namespace posenc::cpu
