// All of a file or of standard input in memory, of a bounded size: either may never end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace posenc::tool {

// What was read so far, called each time that it has doubled; it may throw.
using Look = std::function<void(std::string_view)>;

// A file, or a pipe by its name, which is not waited for: without a writer it has no bytes. Throws Failure: 3 where it
// cannot be opened or read, 4 where it has more than `most` bytes.
std::string whole_file(const std::string& path, std::size_t most);

// `flag` stands before the file in messages: "--q".
std::string whole_standard_input(std::string_view flag, std::size_t most, const Look& look);

}  // namespace posenc::tool
