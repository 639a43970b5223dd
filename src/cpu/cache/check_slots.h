// The rows of a KV cache that tokens are stored in (vLLM's slot_mapping): each in the cache, and none twice.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace posenc::cpu {

// Throws Error "[where] slots ..." unless there is a slot for each of `tokens`, each -1 or a row below `rows`, and no
// row twice. Slots that follow each other are one run: n runs take O(n log n), and the heap only above 256 of them,
// which a batch of single tokens or 4096 tokens of a prompt in blocks of 16 do not pass.
void check_slots(std::string_view where, std::span<const std::int64_t> slots, std::int64_t tokens, std::int64_t rows);

}  // namespace posenc::cpu
