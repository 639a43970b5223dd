// Keys that came out of a quantised cache: KIVI (arXiv 2402.02750), transformers' quantised caches, ggml's blocks, scales
// for each token and head, eight-bit floats.
#pragma once

#include <optional>
#include <string>

#include "diagnose/expectation.h"
#include "diagnose/samples.h"

namespace posenc::inline v0_2::port {

// What says so, in words: nine of ten channels come out in few levels over as many tokens as share a scale, or nine of
// ten blocks of a token's channels do, evenly spaced ones, where the format of `after` is fine enough to show that, or 16
// at most; or all elements have so few bits as eight-bit floats. Nothing where `before` is so too.
std::optional<std::string> stored_coarsely(const Samples& samples);

// What says that storing is all that parts `after` from the plan, in words (stored_steps.cpp): elements are numbers of
// few significant bits, or integers, times a scale that all, a head, a channel, a token or a block of its channels
// share, and the plan's are within half a step of them all. Nothing of an expectation without a rope. `is_soft`: steps may
// feign what was found; they speak alone then, if nobody says where the first token stands.
std::optional<std::string> stored_within_steps(const Samples& samples, const Expectation& expected, bool is_soft);

}  // namespace posenc::inline v0_2::port
