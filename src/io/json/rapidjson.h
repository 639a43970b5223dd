// RapidJSON as this library uses it; include nothing of it but through here.
//
// It stands in a namespace of ours: its templates are weak symbols, and a program that links both this library and its
// own RapidJSON, with other settings, would otherwise run one copy of them for both. Its assertions throw instead of
// aborting. None is known to be reachable; one that is would break a test instead of a process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <stdexcept>

namespace posenc::io {

[[noreturn]] inline void rapidjson_broken(const char* condition) { throw std::logic_error(condition); }

// Its stack's memory: operator new, which throws where std::realloc gives a null pointer that RapidJSON does not test.
class RapidJsonMemory {
 public:
  static constexpr bool kNeedFree = true;
  void* Malloc(std::size_t size) { return size == 0 ? nullptr : ::operator new(size); }
  void* Realloc(void* old, std::size_t old_size, std::size_t size) {
    void* fresh = Malloc(size);
    // Of no bytes from or to a null pointer.
    std::copy_n(static_cast<const char*>(old), std::min(old_size, size), static_cast<char*>(fresh));
    Free(old);
    return fresh;
  }
  static void Free(void* block) { ::operator delete(block); }
};

}  // namespace posenc::io

#define RAPIDJSON_NAMESPACE posenc::io::rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace posenc::io::rapidjson {
#define RAPIDJSON_NAMESPACE_END }
#define RAPIDJSON_ASSERT(condition) ((condition) ? void() : ::posenc::io::rapidjson_broken(#condition))

#include <rapidjson/reader.h>
