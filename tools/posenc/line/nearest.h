// What somebody probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace posenc::tool {

// The names within a third of their length of edits (insert, delete, replace, swap of neighbours), or within two edits
// of a short name, nearest first; none is more than one edit further away than the nearest, and there are at most
// three. A word of 3 characters or more that is part of a name counts as one edit away.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace posenc::tool
