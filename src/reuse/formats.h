// What a format keeps of a row of numbers. ggml's are those of ggml-quants.c, in its own float steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "posenc/cache/study_cache.h"

namespace posenc::reuse {

// Of a head of so many channels; nothing where they are no whole number of blocks.
std::optional<double> bytes_of_head(KvFormat format, std::int64_t channels);

// The numbers of one token and head, stored and read again. Their count is a whole number of blocks.
void store(KvFormat format, std::span<float> head);

}  // namespace posenc::reuse
