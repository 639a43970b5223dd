#include "fuzz/target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace posenc::fuzz {
namespace {

// A message quotes at most some of the file, a name and a pointer, each cut short: the longest has about 1100 bytes.
constexpr std::size_t kMaxMessage = 2000;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "posenc: does not hold: %s\n", what);
  std::abort();
}

void must_be_sound(const FileError& error, std::string_view bytes, std::string_view name) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const std::string message = error.message();
  const auto must_hold = [&](bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "%s at %lld\n", message.c_str(), static_cast<long long>(error.offset));
    must(holds, what);
  };
  // What a file cut short lacks lies beyond its end.
  const bool inside = error.offset <= size || error.kind == ErrorKind::truncated;
  must_hold(error.offset >= -1 && inside, "an error's offset lies in the file");
  must_hold(error.line >= -1 && error.line <= size + 1, "an error's line lies in the file");
  must_hold(error.column >= -1 && error.column <= size + 1, "an error's column lies in the file");
  must_hold(error.file == name, "an error names its file");
  must_hold(!error.expected.empty() || !error.detail.empty(), "an error says what was expected");
  must_hold(message.size() > name.size() && message.size() <= kMaxMessage, "an error's message is short");
  must_hold(std::none_of(message.begin(), message.end(), is_control), "an error's message is safe to print");
}

void must_be_safe_to_print(std::string_view message) {
  must(!message.empty() && message.size() <= kMaxMessage, "a message is short");
  must(std::none_of(message.begin(), message.end(), is_control), "a message is safe to print");
}

// FNV-1a, 64 bits: offset basis and prime as its authors give them.
std::uint64_t hash(std::string_view bytes) noexcept {
  std::uint64_t value = 14695981039346656037U;
  for (const char c : bytes) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return value;
}

}  // namespace posenc::fuzz
