// A few queries of a dump, for what is tried too often to be tried on all of them.
#pragma once

#include <cstddef>
#include <vector>

#include "diagnose/attention/tried.h"

namespace posenc::inline v0_2::port {

// The dump, and a hypothesis, of `most` queries at most: the last one among them, evenly.
struct Few {
  DumpedAttention dumped;
  AttentionTried plan;
};
Few few_queries(const DumpedAttention& dumped, const AttentionTried& plan, std::size_t most);

// Of queries by their numbers in the dump.
Few these_queries(const DumpedAttention& dumped, const AttentionTried& plan, const std::vector<std::size_t>& queries);

}  // namespace posenc::inline v0_2::port
