// Files written so that their name never stands for half of one.
//
// All bytes go to a file beside the path, are forced to the disk, and only then get the name: at every moment the path
// is what it was or the whole new file, and after an error nothing is left. A symbolic link is neither followed nor
// replaced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "posenc/error.h"
#include "posenc/export.h"

namespace posenc::inline v0_2 {

struct WriteOptions {
  bool replace = false;  // a regular file of that name; anything else that stands there is an error in any case
  // Asked every 16 MiB, and before the file gets its name, with the bytes written so far. False gives the file up: an
  // error, and nothing is left; what it throws passes through, and nothing is left either.
  std::function<bool(std::int64_t bytes)> keep_going{};
};

// Gives the bytes written.
POSENC_API Result<std::int64_t> write_file(const std::filesystem::path& path, std::string_view bytes,
                                           const WriteOptions& options = {});

}  // namespace posenc::inline v0_2
