// Formats by their first bytes (magic numbers of the formats' own descriptions): gzip, zip and PyTorch checkpoints,
// HTML, Git LFS pointers, safetensors, GGUF, llama2.c and others, so that "not JSON" can say what the file is instead.
//
// Called where a file was to be a config (plan/read/config_plan.cpp, read_plan.cpp) or a file of tensors
// (io/tensors/tensor_format.cpp).
#include "io/files/looks_like.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace posenc::io {
namespace {

using namespace std::string_view_literals;

// The reference reader's bound on a safetensors header, in bytes.
constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
// Bytes that are looked at. The longest magic takes 40; the name of the first entry of a zip archive may stand further
// on.
constexpr std::size_t kMaxSniffed = 512;

// Bytes at the start of a file, and what a file that begins so is called in an error: "got a gzip archive".
struct Magic {
  std::string_view bytes;
  std::string_view says;
};

constexpr std::array<Magic, 25> kKnownFormats = {{
    {"\x1F\x8B"sv, "a gzip archive"},
    {"BZh"sv, "a bzip2 archive"},
    {"\xFD\x37zXZ\0"sv, "an xz archive"},
    {"\x28\xB5\x2F\xFD"sv, "a Zstandard archive"},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive"},
    {"GGUF"sv, "a GGUF model"},
    {"gguf"sv, "a GGUF model with its magic in lower case"sv},
    {"FUGG"sv, "a GGUF model with its magic reversed"},
    // Before GGUF; the magic is a little-endian number.
    {"lmgg"sv, "a GGML model (before GGUF)"},
    {"fmgg"sv, "a GGML model (before GGUF)"},
    {"tjgg"sv, "a GGML model (before GGUF)"},
    {"algg"sv, "a GGML adapter (before GGUF)"},
    {"\x93NUMPY"sv, "a NumPy array"},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file"},
    {"\x89PNG\r\n\x1A\n"sv, "a PNG picture"},
    {"\xFF\xD8\xFF"sv, "a JPEG picture"},
    {"%PDF-"sv, "a PDF document"},
    {"\x7F\x45LF"sv, "an ELF program or library"},
    {"version https://git-lfs.github.com/spec/"sv, "a Git LFS pointer: the file itself was not downloaded"},
    {"\x80\x02"sv, "a Python pickle"},
    {"\x80\x03"sv, "a Python pickle"},
    {"\x80\x04"sv, "a Python pickle"},
    {"\x80\x05"sv, "a Python pickle"},
    {"PK\x03\x04"sv, "a zip archive"},
    {"PK\x05\x06"sv, "an empty zip archive"},
}};

// HTML is not case-sensitive; `tag` is in lower case.
bool begins_with_tag(std::string_view text, std::string_view tag) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return text.size() >= tag.size() &&
         std::equal(tag.begin(), tag.end(), text.begin(), [&](char a, char b) { return a == lower(b); });
}

std::string_view without_leading_space(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

// Of llama2.c's header, in its order, with the largest that is believed where no magic says what it is.
//
// The bounds are generous for models (a dim of a million, 4096 layers) and far below what text reads as: the last of
// four bytes of JSON text is 9 (a tab) or more, which makes a number of 9 * 2^24 or more, whatever its sign.
struct Size {
  std::size_t at;  // in bytes
  std::int64_t largest;
};
constexpr Size kDim{0, 1 << 20};
constexpr Size kHidden{4, 1 << 22};
constexpr Size kLayers{8, 1 << 12};
constexpr Size kHeads{12, 1 << 12};
constexpr Size kKvHeads{16, 1 << 12};
constexpr Size kVocabulary{20, 1 << 24};  // below 0: the classifier has weights of its own
constexpr Size kPositions{24, 1 << 24};

// 0 for what is not believed.
std::int64_t size_at(std::string_view bytes, const Size& size) {
  std::uint32_t bits = 0;
  for (std::size_t i = 4; i-- > 0;) bits = bits << 8U | static_cast<unsigned char>(bytes[size.at + i]);
  const std::int64_t value = static_cast<std::int32_t>(bits);
  const std::int64_t count = size.at == kVocabulary.at && value < 0 ? -value : value;
  return count >= 1 && count <= size.largest ? count : 0;
}

// A safetensors file: the header's length in 8 bytes, little-endian, then the header, an object.
bool has_safetensors_header(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length >= 2 && length <= kMaxSafetensorsHeader;
}

}  // namespace

// The magic of versions 1 and 2 with the version; else version 0, by sizes that are all plausible.
bool is_llama2c(std::string_view bytes) {
  if (bytes.starts_with("24ka\x01\0\0\0"sv) || bytes.starts_with("24ka\x02\0\0\0"sv)) return true;
  if (bytes.size() < kPositions.at + 4) return false;
  for (const Size& size : {kHidden, kLayers, kVocabulary, kPositions}) {
    if (size_at(bytes, size) == 0) return false;
  }
  const std::int64_t dim = size_at(bytes, kDim);
  const std::int64_t heads = size_at(bytes, kHeads);
  const std::int64_t kv_heads = size_at(bytes, kKvHeads);
  // Its rotation rotates pairs of a head's channels.
  return dim > 0 && heads > 0 && kv_heads > 0 && dim % (2 * heads) == 0 && heads % kv_heads == 0;
}

std::optional<std::string> looks_like(std::string_view bytes) {
  bytes = bytes.substr(0, kMaxSniffed);
  // torch.save writes a zip archive whose first entry is NAME/data.pkl.
  if (bytes.starts_with("PK\x03\x04") && bytes.find("data.pkl") != std::string_view::npos) {
    return "a PyTorch checkpoint (a zip archive with a pickle)";
  }
  const auto fits = [&](const Magic& magic) { return bytes.starts_with(magic.bytes); };
  const auto found = std::find_if(kKnownFormats.begin(), kKnownFormats.end(), fits);
  if (found != kKnownFormats.end()) return std::string(found->says);
  if (has_safetensors_header(bytes)) return "a safetensors file";
  const std::string_view text = without_leading_space(bytes);
  for (const std::string_view tag : {"<!doctype html"sv, "<html"sv, "<head"sv}) {
    if (begins_with_tag(text, tag)) return "an HTML page";
  }
  if (begins_with_tag(text, "<?xml")) return "an XML document";
  return std::nullopt;
}

}  // namespace posenc::io
