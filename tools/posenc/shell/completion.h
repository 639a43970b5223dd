// The words of every command, for shells and for man.
#pragma once

#include <string>
#include <vector>

#include "line/command_spec.h"

namespace posenc::tool {

// A script that a shell reads at its start.
std::string bash_completion(const std::vector<CommandSpec>& commands);
std::string zsh_completion(const std::vector<CommandSpec>& commands);
std::string fish_completion(const std::vector<CommandSpec>& commands);

// roff, for man(1): posenc itself, or one of its commands.
std::string man_page(const std::vector<CommandSpec>& commands);
std::string man_page(const CommandSpec& command);

}  // namespace posenc::tool
