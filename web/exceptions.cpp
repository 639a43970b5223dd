// What is thrown ends the call: its words go to the page, which starts anew. The C++ library of wasm32 has no
// exceptions, and in what is compiled here none is caught.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <typeinfo>

#include "posenc/error.h"

extern "C" {

[[noreturn]] __attribute__((import_module("posenc"), import_name("thrown"))) void posenc_thrown(const char* text,
                                                                                                std::size_t size);

void* __cxa_allocate_exception(std::size_t size) noexcept {  // NOLINT: the ABI's name
  return std::malloc(size);
}

void __cxa_free_exception(void* thrown) noexcept {  // NOLINT: the ABI's name
  std::free(thrown);
}

[[noreturn]] void __cxa_throw(void* thrown, std::type_info* type, void (*)(void*)) {  // NOLINT: the ABI's name
  const char* const text = *type == typeid(posenc::Error) ? static_cast<posenc::Error*>(thrown)->what() : type->name();
  posenc_thrown(text, std::strlen(text));
}

}  // extern "C"
