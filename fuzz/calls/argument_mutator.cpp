// A byte of an input is an argument, and which one follows from where it stands: a byte more or less in front makes
// another call of all that follows. So bytes are replaced, none is put in or taken out.
#include <cstddef>
#include <random>
#include <string>

#include "fuzz/mutator.h"

namespace posenc::fuzz {

std::string mutate(std::string_view bytes, std::uint32_t seed) {
  std::string out(bytes);
  std::minstd_rand random(seed);
  random.discard(1);
  if (out.size() < 64 && random() % 8 == 0) out.push_back('\0');
  for (std::size_t changes = random() % 4 + 1; changes > 0 && !out.empty(); --changes) {
    char& byte = out[random() % out.size()];
    switch (random() % 4) {
      case 0: byte = '\0'; break;
      case 1: byte = static_cast<char>(byte + 1); break;
      default: byte = static_cast<char>(random() >> 7U); break;
    }
  }
  return out;
}

}  // namespace posenc::fuzz
