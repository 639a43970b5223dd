// Which keys the reader asks for in a file of a family: found by reading, not by a list.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "plan/keys/key.h"

namespace posenc::test {

// A key of position_keys(), by its own list of names: some keys of different stacks have the same first name.
using AskedKeys = std::set<std::string_view>;

// Family -> the keys that it was asked for, present or absent, in a small file of each of its model types and in
// family_configs(). Keys of the rope dictionaries are not among them.
std::map<std::string, AskedKeys> asked_keys();

// The text of that small file of a model type: heads, layers, a width, a length and what its class insists on. Empty
// where none can be read.
std::string smallest_config(std::string_view model_type);

}  // namespace posenc::test
