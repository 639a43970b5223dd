// Makes text from a file safe to show: control characters, DEL, bidirectional controls and broken UTF-8 become \xNN.
// Error messages name keys, tensors and paths that a hostile model file may have chosen.
#pragma once

#include <string>
#include <string_view>

namespace posenc::inline v0_2 {

std::string escape(std::string_view text);

}  // namespace posenc::inline v0_2
