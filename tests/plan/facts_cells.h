// The cells that a plan gives, in the words of the table of facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json/json.h"
#include "plan/facts_table.h"

namespace posenc::test {

// The member at a path such as "mask/window/past", or nothing when anything on the way is absent or null.
std::optional<io::JsonValue> at(io::JsonValue value, std::string_view path);

// A value as a cell: its text, "true", "[count]" for a list; "-" for nothing.
std::string cell(const std::optional<io::JsonValue>& value);
std::string cell(const io::JsonValue& object, std::string_view path);

bool attends(const io::JsonValue& layer);  // has heads
bool rotates(const io::JsonValue& layer);  // has a rotation

std::string qk_norm_cell(const io::JsonValue& layer);
std::string soft_cap_cell(const io::JsonValue& layer);
std::string window_cell(const io::JsonValue& layer);
// "64,128,half,0,64,10000" of the indexer's rotation.
std::string indexer_cell(const io::JsonValue& layer);
// "t,h,w chunked[16,24,24]"; "?" where the axes fit no name.
std::string axes_cell(const io::JsonValue& rotate);
// "half/0/64/10000/h,w axial+..." of every rotation.
std::string rotations_cell(const io::JsonValue& layer);

// What differs between a list of schemes and "NAME{key=value,...}+NAME{...}", or nothing. Only keys that the fact lists
// are compared.
std::string scheme_difference(const std::vector<io::JsonValue>& schemes, std::string_view fact);
// The same for a mask and "sparse(words)": the kind, and that its detail holds every number of those words.
std::string mask_difference(const io::JsonValue& mask, std::string_view fact);

// "a,b{c,d},e" -> "a", "b{c,d}", "e": parts at `separator` outside of braces, brackets and parentheses.
std::vector<std::string> split_outside(std::string_view text, char separator);
// "name{key=value,...}" -> (name, {(key, value), ...}); a value runs to the next ",key=".
struct Braced {
  std::string name;
  std::vector<std::pair<std::string, std::string>> members;
};
Braced braced(std::string_view text);

}  // namespace posenc::test
