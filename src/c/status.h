// Where exceptions end: every function of c.h runs its work in guarded(), which turns Error into POSENC_WRONG_ARGUMENT,
// bad_alloc into POSENC_NO_MEMORY and all else into POSENC_INTERNAL. A FileError, which is no exception, becomes
// POSENC_WRONG_FILE in plan.cpp.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "posenc/c.h"
#include "posenc/error.h"

namespace posenc::c {

// Keeps the reason for posenc_last_error(); an empty one clears it. Does not throw: without memory for a long reason,
// it keeps a short one.
posenc_status keep(posenc_status status, std::string_view reason) noexcept;

// Calls work(), which returns a posenc_status or nothing.
template <typename Work>
posenc_status guarded(const Work& work) noexcept {
  keep(POSENC_OK, {});
  try {
    if constexpr (requires { posenc_status{work()}; }) return work();
    work();
    return POSENC_OK;
  } catch (const Error& error) {
    return keep(POSENC_WRONG_ARGUMENT, error.what());
  } catch (const std::bad_alloc&) {
    return keep(POSENC_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return keep(POSENC_INTERNAL, error.what());
  } catch (...) {
    return keep(POSENC_INTERNAL, "an unknown fault");
  }
}

// Throws Error unless the pointer is there.
template <typename T>
T& required(const char* where, const char* name, T* pointer) {
  if (pointer == nullptr) throw Error(where, {name, "be given", "NULL"});
  return *pointer;
}

// Likewise, and unless the struct says that it is as large as here.
template <typename T>
T& sized(const char* where, const char* name, T* args) {
  required(where, name, args);
  if (args->size == sizeof(T)) return *args;
  throw Error(where, {std::string(name) + "->size", "be " + std::to_string(sizeof(T)) + ", as its INIT macro sets it",
                      std::to_string(args->size)});
}

}  // namespace posenc::c
