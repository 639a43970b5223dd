// Keys that were stored in a few levels a channel, as caches of four bits and fewer have them (KIVI, arXiv 2402.02750).
#pragma once

#include "diagnose/samples.h"

namespace posenc::inline v0_2::port {

// Whether nearly every channel of `after` has so few different numbers, and that of `before` has more.
bool is_in_few_levels(const Samples& samples);

}  // namespace posenc::inline v0_2::port
