// Code of a layer (posenc/emit.h), as Python sees it.
#pragma once

#include "describe/described.h"
#include "posenc/emit.h"

namespace posenc::python {

constexpr auto description(Type<EmittedFunction>) {
  using T = EmittedFunction;
  return described_as<T>("EmittedFunction", "A function of emitted code that is to be called.",
                         member("name", &T::name), member("parameters", &T::parameters, "In their order."));
}

constexpr auto description(Type<EmittedCode>) {
  using T = EmittedCode;
  return described_as<T>(
      "EmittedCode", "What a layer does with positions, as code.", member("as_", &T::as),
      member("file_name", &T::file_name, "That suits the language: 'attention.cu'."), member("text", &T::text),
      member("functions", &T::functions, "That are to be called, in the order in which they are."),
      member("port", &T::port, "Of Python: port.py of golden vectors in a folder beside the file; else empty."),
      member("beside", &T::beside, "What the model does and this code does not, a sentence each."));
}

}  // namespace posenc::python
