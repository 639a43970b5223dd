// Code that does with positions what a layer of a plan does: tables of cos and sin, rotation, mask, biases, attention.
//
//   write_file("attention.py", emit(plan, {.as = EmitTarget::numpy, .layer = 0}).text);
//
// Short, self-contained and to be read: each number stands there once, with the config key or the default that it comes
// from, each formula with its paper. It is not made to be fast. docs/emit.md shows it, and says what runs in the tests.
// What is emitted is the caller's, under any licence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {

enum class EmitTarget : std::uint8_t {
  numpy,   // Python, float64
  torch,   // Python
  c,       // C11
  cpp,     // C++20
  cuda,    // CUDA C++, a thread for each query and head
  triton,  // Python, a program for each query and head
  metal,   // Metal shading language, likewise
};

struct EmitOptions {
  EmitTarget as = EmitTarget::numpy;
  std::optional<std::string> stack{};   // by its name; omitted: the first
  std::optional<std::int64_t> layer{};  // counted from 0; may be omitted where all layers of the stack are alike
  bool cross = false;                   // cross attention of the block instead of its self attention
};

struct EmittedFunction {
  std::string name;
  std::vector<std::string> parameters;  // in their order
  bool operator==(const EmittedFunction&) const = default;
};

struct EmittedCode {
  EmitTarget as = EmitTarget::numpy;
  std::string file_name;                   // that suits the language: "attention.cu"
  std::string text;                        // ASCII
  std::vector<EmittedFunction> functions;  // that are to be called, in the order in which they are
  // Of Python, C and C++: port.py, port.c or port.cc of golden vectors (vectors.h) in a folder beside the file, so that
  // their test is of this code. CUDA and Metal, and where a norm stands between rotation and attention: empty.
  std::string port;
  std::vector<std::string> beside;  // what the model does and this code does not, a sentence each
  bool operator==(const EmittedCode&) const = default;
};

// The code of a layer at plan.length or, where the plan has none, with the length of the sequence as an argument if the
// scaling rule depends on it. The same plan and options give the same text. Throws Error for a stack or a layer that
// the plan does not have, a layer that must be named because layers differ, and for what a language cannot express or
// emit does not write yet, by the scheme's name and with the reason.
POSENC_API EmittedCode emit(const Plan& plan, const EmitOptions& options);

// "numpy", ..., "metal".
POSENC_API std::string_view name(EmitTarget target) noexcept;

// {"schema_version", "as", "file_name", "functions": [{"name", "parameters"}], "beside": [], "text", "port"}
POSENC_API std::string to_json(const EmittedCode& code);

}  // namespace posenc::inline v0_2
