// --help, in one shape for every command: usage, what it does, arguments, options, and the footer with examples.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace posenc::tool {

// All of it, exit codes last. In lines of at most 80 columns; the footer is taken as it is.
std::string help_text(const CLI::App& app);
// The usage and what there is to choose from, without the last line's end.
std::string short_help_text(const CLI::App& app);
// "posenc bench rotate"
std::string full_name(const CLI::App& app);

}  // namespace posenc::tool
