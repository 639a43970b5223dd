// How posenc diagnose ends: the report, and the exit code of its verdict.
#pragma once

#include <string>

#include "posenc/diagnose.h"

namespace posenc::tool {

// The JSON, or the text with its first line, the verdict, in bold.
int write_diagnosis(bool as_json, const std::string& json, const std::string& text, PortVerdict verdict);

}  // namespace posenc::tool
