// Tells what a file is that should have been JSON and is clearly something else: "a Git LFS pointer: the file itself
// was not downloaded" helps more than a syntax error in line 1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace posenc::io {

// "a gzip archive", "a Git LFS pointer", ...; nothing when the bytes are of no kind known here. Looks at the first
// few hundred bytes only. No JSON text looks like any of them.
std::optional<std::string> looks_like(std::string_view bytes);

// Whether they begin like a checkpoint of llama2.c (io/tensors/llama2c.cpp), whose first version has no magic: seven
// sizes that go with each other. No JSON text in UTF-8 does.
// A guess from 28 bytes, for the message that a config's reader gives. The reader of tensors does not use it: it
// compares the sizes with the file's own.
bool is_llama2c(std::string_view bytes);

}  // namespace posenc::io
