// Says in plain words what is wrong with a text that is not JSON: what was expected, what is there, and a hint at what
// was most likely meant.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "io/json/json_tree.h"
#include "io/json/rapidjson.h"

namespace posenc::io {

// RapidJSON's verdict at a byte of tree.text.
FileError syntax_error(const JsonTree& tree, rapidjson::ParseErrorCode code, std::size_t offset);
// Something else than `expected` stands at a byte of tree.text.
FileError unexpected(const JsonTree& tree, std::size_t offset, std::string_view expected);
// UTF-16 or UTF-32, by a byte order mark or by where its first zeros stand.
std::optional<std::string_view> wide_encoding(std::string_view text) noexcept;

}  // namespace posenc::io
