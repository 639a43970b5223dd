// Any bytes as a .npy file; and any text as the header of a good one, which seldom comes by chance.
#include <algorithm>
#include <string>

#include "fuzz/target.h"
#include "fuzz/tensor_checks.h"

namespace posenc::fuzz {
namespace {

constexpr std::size_t kHeadBytes = 10;

// Version 1, and a length that is that of what stands up to the last brace.
std::string repaired(std::string_view bytes) {
  const std::size_t length = std::min<std::size_t>(bytes.find_last_of('}') + 1 - kHeadBytes, 0xFFFF);
  std::string out = "\x93NUMPY\x01";
  out += '\0';
  out += static_cast<char>(length & 0xFFU);
  out += static_cast<char>(length >> 8U);
  return out.append(bytes.substr(kHeadBytes));
}

}  // namespace

void run_one(std::string_view bytes) {
  must_open_or_say_why(bytes, TensorFormat::npy);
  const std::size_t end = bytes.find_last_of('}');
  if (end != std::string_view::npos && end >= kHeadBytes) must_open_or_say_why(repaired(bytes), TensorFormat::npy);
}

}  // namespace posenc::fuzz
