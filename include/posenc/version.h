// The version of the headers. CMake reads it from here: this is its only home, but for the names that are made of it:
// the inline namespace of everything public in C++, posenc::v0_2 (what links against another minor version's C++
// library fails to link, and says so by the name).
#pragma once

#define POSENC_VERSION_MAJOR 0
#define POSENC_VERSION_MINOR 2
#define POSENC_VERSION_PATCH 0
