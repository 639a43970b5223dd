// Any bytes as a safetensors file; and with the header's length made right, since a change to the text seldom keeps it.
#include <string>

#include "fuzz/target.h"
#include "fuzz/tensor_checks.h"

namespace posenc::fuzz {
namespace {

constexpr std::size_t kLengthBytes = 8;

// The header ends with the last brace; the rest is data.
std::string repaired(std::string_view bytes, std::size_t end) {
  const std::size_t length = end + 1 - kLengthBytes;
  std::string out;
  for (std::size_t i = 0; i < kLengthBytes; ++i) out += static_cast<char>(std::uint64_t{length} >> (8 * i));
  return out.append(bytes.substr(kLengthBytes));
}

}  // namespace

void run_one(std::string_view bytes) {
  must_open_or_say_why(bytes, TensorFormat::safetensors);
  const std::size_t end = bytes.find_last_of('}');
  if (end == std::string_view::npos || end < kLengthBytes) return;
  must_open_or_say_why(repaired(bytes, end), TensorFormat::safetensors);
}

}  // namespace posenc::fuzz
