// Which keys the reader asks for in a file of a family: found by reading, not by a list.
#pragma once

#include <map>
#include <set>
#include <string>

#include "plan/keys/key.h"

namespace posenc::test {

// A key of position_keys(), by its own list of names: some keys of different stacks have the same first name.
using AskedKeys = std::set<const char*>;

// Family -> the keys that it was asked for, present or absent, in a small file of each of its model types and in
// family_configs(). Keys of the rope dictionaries are not among them.
std::map<std::string, AskedKeys> asked_keys();

}  // namespace posenc::test
