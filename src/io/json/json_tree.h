// What a JsonDocument is made of: one vector of small nodes in the order of the text.
//
// A member of an object is two nodes, its key and then its value; what a container holds follows it. Strings without
// escapes and numbers stay in the text; strings with escapes stand decoded in one buffer beside it. Each object's keys
// are listed once more, sorted: lookups and the search for duplicates are n log n whatever the keys are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/json.h"

namespace posenc::io {

inline constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

struct JsonNode {
  std::uint32_t offset;   // byte of the text: a string's opening quote, a container's bracket
  std::uint32_t parent;   // the container, or kNoNode
  std::uint32_t ordinal;  // 0, 1, ... among the members of the parent; a key has that of its value
  std::uint32_t content;  // string: its first byte, in text or decoded. object: its first entry in by_key
  std::uint32_t extent;   // string, number: bytes. container: one past the last node within
  std::uint32_t members;  // container: how many
  JsonKind kind;
  bool decoded;  // string: content stands in `decoded`
  bool truth;    // boolean
};
// "[1,1,..." makes a node of two bytes, and json_parse.cpp makes room for as many once: with 28 bytes that is 14 per
// byte of text, and "{"":1,..." 12 with its entry in by_key. Then come the text's copy and what a string is decoded in.
static_assert(sizeof(JsonNode) <= 28);

// nodes[0] is the root; a value of an object is the node behind its key.
struct JsonTree {
  std::string file;
  std::string text;
  std::size_t text_begin = 0;  // 3 behind a byte order mark
  std::string decoded;
  std::vector<JsonNode> nodes;
  std::vector<std::uint32_t> by_key;  // nodes of keys, one run per object, in the order of key_before
  std::vector<JsonDuplicate> duplicates;

  // A string's characters or a number's text; of neither, nothing that means anything.
  std::string_view content(std::uint32_t node) const noexcept;
  bool is_member(std::uint32_t node) const noexcept;  // of an object
  std::string_view key_of(std::uint32_t value) const noexcept;
  // The nodes of the container's values, in file order: for (n = first_value(c); n != kNoNode; n = next_value(c, n)).
  std::uint32_t first_value(std::uint32_t container) const noexcept;
  std::uint32_t next_value(std::uint32_t container, std::uint32_t value) const noexcept;
  // At most about `limit` bytes of the JSON pointer, "..." where it is cut.
  std::string pointer(std::uint32_t node, std::size_t limit = std::string::npos) const;

  // An error at a byte of the text: file, offset, line and column are filled in.
  FileError error_at(ErrorKind kind, std::size_t offset) const;
};

// Keys in the order of by_key: the shorter first, then by their bytes.
bool key_before(std::string_view a, std::string_view b) noexcept;

// How much of a pointer an error shows.
inline constexpr std::size_t kMaxShownPointer = 256;

// For error messages: at most about `limit` bytes of a text, and how long it was.
std::string shorten(std::string_view text, std::size_t limit);

}  // namespace posenc::io
