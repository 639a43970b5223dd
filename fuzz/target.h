// What every fuzz target is: a function that takes any bytes and must come back.
//
// Each target is one file fuzz_NAME.cpp, which defines run_one(). It is linked with libfuzzer.cpp for finding inputs
// and with replay.cpp for running known ones through a compiler without libFuzzer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "posenc/error.h"

namespace posenc::fuzz {

// Calls the code under test. What must hold and does not ends the process: see must().
void run_one(std::string_view bytes);

// Says what does not hold and aborts, so that libFuzzer keeps the input.
void must(bool holds, const char* what);

// What is true of every error about these bytes: a place inside of them, and a message of one short, safe line.
void must_be_sound(const FileError& error, std::string_view bytes, std::string_view name);

// Of any message: not empty, short, one line, no control characters.
void must_be_safe_to_print(std::string_view message);

// The same bits for the same bytes, so that a crash is found again: which options to try, which checks to make.
std::uint64_t hash(std::string_view bytes) noexcept;

}  // namespace posenc::fuzz
