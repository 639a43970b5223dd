// Tells the format of a file of tensors: by its first bytes (magic of .npy, .npz, GGUF and llama2.c, the header's
// length of safetensors), else by the end of its name.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "io/files/looks_like.h"
#include "io/gguf/gguf.h"
#include "io/tensors/open_tensor_file.h"

namespace posenc::io {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kHeadBytes = 512;
constexpr std::size_t kHeaderLengthBytes = 8;
constexpr std::string_view kJsonSpace = " \t\r\n";

constexpr std::uint64_t kPlausibleLength = std::uint64_t{1} << 32;  // of a header; any text's first 8 bytes say more

// A length, then an object, which some writers indent.
bool is_safetensors(std::string_view head) {
  if (head.size() <= kHeaderLengthBytes) return false;
  std::uint64_t length = 0;
  for (std::size_t i = kHeaderLengthBytes; i-- > 0;) length = length << 8U | static_cast<unsigned char>(head[i]);
  const std::size_t first = head.find_first_not_of(kJsonSpace, kHeaderLengthBytes);
  return length < kPlausibleLength && first != std::string_view::npos && head[first] == '{';
}

// A zip archive (APPNOTE, section 4.3.7) whose first member is an array.
bool is_npz(std::string_view head) {
  constexpr std::size_t kNameLengthAt = 26;
  constexpr std::size_t kNameAt = 30;
  if (!head.starts_with("PK\x03\x04") || head.size() < kNameAt) return false;
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(head[i])); };
  return head.substr(kNameAt, byte(kNameLengthAt) | byte(kNameLengthAt + 1) << 8U).ends_with(".npy");
}

struct Ending {
  std::string_view text;
  TensorFormat format;
};
constexpr std::array<Ending, 5> kEndings = {{{".npy"sv, TensorFormat::npy},
                                             {".npz"sv, TensorFormat::npz},
                                             {".safetensors"sv, TensorFormat::safetensors},
                                             {".gguf"sv, TensorFormat::gguf},
                                             {".bin"sv, TensorFormat::llama2c}}};

}  // namespace

// Magics first; then llama2.c version 0, by its header's sizes giving the file's own, which chance does not; then
// safetensors, by what follows its length. The ending of the name decides last, and only for bytes that are not clearly
// something else: mostly it chooses which reader's error the caller sees.
Result<TensorFormat> find_format(const ByteSource& source) {
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), kHeadBytes)), '\0');
  if (auto error = source.read(0, std::as_writable_bytes(std::span(head)), "")) return *std::move(error);
  if (head.starts_with("\x93NUMPY")) return TensorFormat::npy;
  if (is_npz(head)) return TensorFormat::npz;
  if (is_gguf(head)) return TensorFormat::gguf;
  if (head.starts_with("24ka")) return TensorFormat::llama2c;
  // Before looks_like(): a first size of 640 is how a pickle begins.
  if (list_tensors(source, TensorFormat::llama2c, false)) return TensorFormat::llama2c;
  if (is_safetensors(head)) return TensorFormat::safetensors;
  const std::optional<std::string> other = looks_like(head);
  const auto ends = [&](const Ending& ending) { return source.name().ends_with(ending.text); };
  const auto* const ending = std::ranges::find_if(kEndings, ends);
  if (!other && ending != kEndings.end()) return ending->format;
  FileError error;
  error.kind = head.empty() ? ErrorKind::empty : ErrorKind::wrong_format;
  error.file = source.name();
  error.offset = 0;
  error.expected = "a .npy, .npz, safetensors, GGUF or llama2.c file";
  error.got = head.empty() ? "no bytes" : other.value_or("bytes that are none of them");
  return error;
}

Result<TensorList> list_tensors(const ByteSource& source, TensorFormat format, bool raw16_is_bf16) {
  ByteCursor cursor = source.cursor();
  switch (format) {
    case TensorFormat::npy: return list_npy(cursor, raw16_is_bf16);
    case TensorFormat::safetensors: return list_safetensors(cursor);
    case TensorFormat::gguf: return list_gguf(cursor);
    case TensorFormat::npz: return list_npz(cursor, raw16_is_bf16);
    case TensorFormat::llama2c: break;
  }
  return list_llama2c(cursor);
}

}  // namespace posenc::io
