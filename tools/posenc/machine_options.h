// --threads and --isa: what of the machine a command may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command_spec.h"
#include "posenc/info.h"

namespace posenc::tool {

OptionSpec threads_option(const std::string& left_out);  // what holds without it
OptionSpec isa_option();

std::optional<std::int64_t> threads_given(const Given& given);
// Throws UsageError for an instruction set that this machine does not have.
Isa isa_given(const Given& given);

}  // namespace posenc::tool
