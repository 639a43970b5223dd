// What libFuzzer calls. Half of the changes to an input are its own, which take words from the dictionary; half know
// the format.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "fuzz/mutator.h"
#include "fuzz/target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  posenc::fuzz::run_one({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string changed = posenc::fuzz::mutate(text, seed);
  if (changed.size() > max_size || changed.empty()) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
