// The languages: each writes a recipe down, in a file of its own. python_like.h and c_like.h have what several share.
#pragma once

#include <string>
#include <vector>

#include "emit/recipe.h"

namespace posenc::code {

struct Written {
  std::string file_name;
  std::string text;
  std::vector<EmittedFunction> functions;
  std::string port{};  // of Python, C and C++: port_text, c_port_text
};

Written numpy_code(const Recipe& recipe);
Written torch_code(const Recipe& recipe);
Written triton_code(const Recipe& recipe);
Written c_code(const Recipe& recipe);
Written cpp_code(const Recipe& recipe);
Written cuda_code(const Recipe& recipe);
Written metal_code(const Recipe& recipe);

// port.py of the golden vectors' folder, which is beside the file: what their test calls. `has_tensors`: of torch.
std::string port_text(const Recipe& recipe, std::string_view file_name, bool has_tensors);
// Likewise port.c, or of attention.hpp port.cc.
std::string c_port_text(const Recipe& recipe, std::string_view file_name);

// The first comment: what this is, what it does, what it does not, whose it is. `language`: "NumPy"; `use`: how its
// functions are called, a sentence or more.
std::string header(const Recipe& recipe, std::string_view mark, std::string_view language, std::string_view use);

// In which order the functions are called.
std::string order_of_calls(const Recipe& recipe);

}  // namespace posenc::code
