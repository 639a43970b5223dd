// Keys whose scales are by channel: floats of whole groups to codes (CacheFormat::int4_by_channel).
#pragma once

#include "cpu/cache/check_cache.h"
#include "kernels/kernels.h"
#include "posenc/cache.h"

namespace posenc::cpu {

// Of a call whose groups are whole: rows, [rows][heads][head_dim], are those of the call. Rows without a slot are left
// alone.
void store_groups(const CacheArgs& args, const CacheCall& call, const kernels::KernelTable& kernels, const float* rows);

}  // namespace posenc::cpu
