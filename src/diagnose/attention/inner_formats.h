// A port whose products, scores, weights or values are in a short format inside, though what was dumped of them is
// finer: under autocast, with TF32 products, in kernels that keep weights in the format of values.
//
// Which parts are rounded, and when, is searched: each order of roundings makes numbers of its own, and the right one
// leaves but the few that lie so close between two places that float32 sums decide.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "diagnose/attention/stage_judge.h"

namespace posenc::inline v0_2::port {

struct InnerFormat {
  std::string_view name;
  double unit;  // half an ulp of 1; of one that truncates, an ulp
  ShortFormat format;
  bool products_alone = false;  // what is multiplied is rounded to it, and nothing else
};

// From the finest on.
inline constexpr std::array<InnerFormat, 4> kInnerFormats{
    InnerFormat{"float16", 0x1p-11, kFloat16}, InnerFormat{"TF32", 0x1p-11, kTf32, true},
    InnerFormat{"TF32", 0x1p-10, kTf32Truncated, true}, InnerFormat{"bfloat16", 0x1p-8, kBfloat16}};

// `of` with some of it in the format, each such hypothesis with a change of the fact precision: the one that leaves
// least, and those that leave as little; nothing where nothing of it would be seen. `plan`: whose content is that of
// queries and keys as they are.
std::vector<AttentionTried> in_inner_format(const InnerFormat& format, const AttentionDumpArgs& args,
                                            const DumpedAttention& dumped, const Stage& stage,
                                            const AttentionTried& plan, const AttentionTried& of);

}  // namespace posenc::inline v0_2::port
