// --help, in one shape for every command: usage, what it does, arguments, options, and the footer with examples.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace posenc::tool {

std::string help_text(const CLI::App& app);
// "posenc bench rotate"
std::string full_name(const CLI::App& app);

}  // namespace posenc::tool
