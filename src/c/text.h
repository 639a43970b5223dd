// A text into the caller's memory, in two calls: one that asks for the size and one that brings the room.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "posenc/error.h"

namespace posenc::c {

// `size`: the room at `to`, then the length of the text and its final 0. NULL for `to` asks for that alone.
inline void give_text(const char* where, const std::string& text, char* to, std::size_t& size,
                      const char* field = "*size") {
  const std::size_t room = size;
  // Set before too little room is refused: the caller knows then how much to bring.
  size = text.size() + 1;
  if (to == nullptr) return;
  if (room < size) throw Error(where, {field, "be at least " + std::to_string(size), std::to_string(room)});
  std::memcpy(to, text.c_str(), size);
}

}  // namespace posenc::c
