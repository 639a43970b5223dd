// Any bytes as a llama2.c checkpoint. The file's size must be the one that its header says, to the byte: the first
// bytes are tried with as many zeros behind them as the small headers among them ask for.
#include <span>
#include <string>

#include "fuzz/target.h"
#include "fuzz/tensor_checks.h"

namespace posenc::fuzz {
namespace {

constexpr std::size_t kMostBytes = 1U << 16U;

// The size that the error about a file of another one asks for; 0 when it asks for none, or for much.
std::size_t wanted_size(std::string_view bytes) {
  const Result<TensorFile> file =
      open_tensor_file(std::as_bytes(std::span(bytes.data(), bytes.size())), "x", {.format = TensorFormat::llama2c});
  if (file.ok() || !file.error().expected.ends_with("as the header's sizes say")) return 0;
  std::size_t size = 0;
  for (const char c : file.error().expected) {
    if (c < '0' || c > '9' || size > kMostBytes) break;
    size = 10 * size + static_cast<std::size_t>(c - '0');
  }
  return size > kMostBytes ? 0 : size;
}

}  // namespace

void run_one(std::string_view bytes) {
  must_open_or_say_why(bytes, TensorFormat::llama2c);
  const std::size_t size = wanted_size(bytes);
  if (size == 0) return;
  std::string whole(bytes.substr(0, size));
  whole.resize(size, '\0');
  must_open_or_say_why(whole, TensorFormat::llama2c);
}

}  // namespace posenc::fuzz
