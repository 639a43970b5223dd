// The data of a figure as JSON, in one line: what was drawn, before it became colours and pixels.
#pragma once

#include <string>
#include <string_view>

#include "plot/figure.h"

namespace posenc::tool {

std::string json_of(const Figure& figure, std::string_view kind);

}  // namespace posenc::tool
