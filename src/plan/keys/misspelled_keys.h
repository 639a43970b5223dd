// Keys of a file that nobody asked for, and that differ by a letter or two from one that somebody did.
#pragma once

#include <span>
#include <string>

#include "plan/scope/config_reader.h"

namespace posenc::plan {

// A warning for each of the `unread` pointers whose last part looks like a position key's name.
void warn_of_misspelled_keys(ConfigReader& reader, std::span<const std::string> unread);

}  // namespace posenc::plan
