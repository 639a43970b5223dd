// Where exceptions end: every function of c.h runs its work in guarded(), which turns Error and length_error into
// POSENC_WRONG_ARGUMENT, bad_alloc into POSENC_NO_MEMORY and all else into POSENC_INTERNAL. A FileError, which is no
// exception, becomes POSENC_WRONG_FILE in plan.cpp.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "posenc/c.h"
#include "posenc/error.h"

namespace posenc::c {

// Keeps the reason for posenc_last_error(); an empty one clears it. Does not throw: without memory for a long reason,
// it keeps a short one.
posenc_status keep(posenc_status status, std::string_view reason) noexcept;

// Calls work(), which returns a posenc_status or nothing.
// noexcept: no exception may unwind C's frames. The reason of the call before is cleared first, so that
// posenc_last_error() is "" after a success. An Error is thrown before any output is written.
template <typename Work>
posenc_status guarded(const Work& work) noexcept {
  keep(POSENC_OK, {});
  try {
    if constexpr (requires { posenc_status{work()}; }) return work();
    work();
    return POSENC_OK;
  } catch (const Error& error) {
    return keep(POSENC_WRONG_ARGUMENT, error.what());
  } catch (const std::length_error&) {  // more elements than any memory holds
    return keep(POSENC_WRONG_ARGUMENT, "a size is larger than memory can be");
  } catch (const std::bad_alloc&) {
    return keep(POSENC_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return keep(POSENC_INTERNAL, error.what());
  } catch (...) {
    return keep(POSENC_INTERNAL, "an unknown fault");
  }
}

// Throws Error unless the pointer is there.
// For pointers that a call cannot do without, the struct of arguments among them.
template <typename T>
T& required(const char* where, const char* name, T* pointer) {
  if (pointer == nullptr) throw Error(where, {name, "be given", "NULL"});
  return *pointer;
}

// Likewise, and unless the struct says that it is as large as here.
// A caller compiled with another version's header has a struct of another size: it is refused, not read in part.
template <typename T>
T& sized(const char* where, const char* name, T* args) {
  required(where, name, args);
  if (args->size == sizeof(T)) return *args;
  throw Error(where, {std::string(name) + "->size", "be " + std::to_string(sizeof(T)) + ", as its INIT macro sets it",
                      std::to_string(args->size)});
}

// Throws Error unless a member that stands for nothing yet is 0: a later version may give it a meaning.
inline void require_reserved(const char* where, const std::string& name, std::int32_t reserved) {
  if (reserved != 0) throw Error(where, {name, "be 0", std::to_string(reserved)});
}

}  // namespace posenc::c
