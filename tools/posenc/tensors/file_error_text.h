// A FileError for people: its one line, and below it the line of the file with a caret.
//
//   posenc: config.json:12:15: /rope_scaling/factor: expected a number above 0, got -2
//      12 |     "factor": -2,
//         |               ^
#pragma once

#include <string>
#include <string_view>

#include "posenc/error.h"

namespace posenc::tool {

// `bytes`: the text that was read, where it cannot be read again (standard input); else error.file is read around the
// error's offset. Where there is nothing to show, the one line stands alone.
std::string file_error_text(const FileError& error, std::string_view bytes = {});

// kFile for what cannot be read or written, kMalformed for what was read and is wrong.
int exit_code_of(const FileError& error);

}  // namespace posenc::tool
