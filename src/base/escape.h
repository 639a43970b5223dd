// Makes text from a file safe to show: control characters, DEL, bidirectional controls and broken UTF-8 become \xNN.
#pragma once

#include <string>
#include <string_view>

namespace posenc::inline v0_2 {

std::string escape(std::string_view text);

}  // namespace posenc::inline v0_2
