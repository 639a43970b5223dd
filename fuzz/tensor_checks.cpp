#include "fuzz/tensor_checks.h"

#include <algorithm>
#include <span>

#include "fuzz/target.h"
#include "support/heap_probe.h"

namespace posenc::fuzz {
namespace {

constexpr std::string_view kName = "tensors";

Result<TensorFile> open_bounded(std::string_view bytes, const TensorFileOptions& options) {
  const test::HeapProbe probe;
  Result<TensorFile> file = open_tensor_file(std::as_bytes(std::span(bytes.data(), bytes.size())), kName, options);
  const auto bound = test::file_heap_bound(static_cast<std::int64_t>(bytes.size()));
  must(probe.peak_growth() <= bound, "opening takes at most 64 bytes per byte and 1 MiB");
  return file;
}

void must_be_a_tensor(const TensorEntry& entry, std::string_view bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  must(entry.shape.size() == entry.strides.size(), "each axis has a stride");
  must(std::ranges::all_of(entry.shape, [](std::int64_t n) { return n >= 0; }), "no size is negative");
  must(std::ranges::all_of(entry.strides, [](std::int64_t n) { return n > 0; }), "strides are above 0");
  const bool nothing = entry.bytes <= 0;  // GGUF may leave out the padding before it
  must(entry.offset >= 0 && (nothing || (entry.offset <= size && entry.bytes <= size - entry.offset)),
       "a tensor lies in the file");
}

void must_read_the_same(const TensorFile& read, const TensorFile& seen, std::int64_t index, std::string_view bytes) {
  const TensorEntry& entry = read.tensors()[static_cast<std::size_t>(index)];
  const Result<TensorData> copy = read.read(index);
  const Result<TensorData> look = seen.read(index);
  must(copy.ok() == look.ok() && copy.ok() == (entry.type != ElementType::other), "what has a type is read");
  if (!copy) return must_be_sound(copy.error(), bytes, kName);
  must(std::ranges::equal(copy->bytes(), look->bytes()), "what is read is what is seen");
  must(static_cast<std::int64_t>(copy->bytes().size()) == entry.bytes, "a tensor has as many bytes as it says");
  must(copy->owned(), "what is read is owned");
  const TensorEntry* const found = read.find(entry.name);
  must(found != nullptr && found->name == entry.name, "a tensor is found by its name");
}

}  // namespace

void must_open_or_say_why(std::string_view bytes, TensorFormat format) {
  const bool raw16_is_bf16 = hash(bytes) % 2 == 0;
  const Result<TensorFile> file = open_bounded(bytes, {.format = format, .raw16_is_bf16 = raw16_is_bf16});
  const Result<TensorFile> seen =
      open_bounded(bytes, {.format = format, .access = DataAccess::map, .raw16_is_bf16 = raw16_is_bf16});
  must(file.ok() == seen.ok(), "a file opens in either way");
  if (!file) return must_be_sound(file.error(), bytes, kName);
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    must_be_a_tensor(file->tensors()[i], bytes);
    must_read_the_same(*file, *seen, static_cast<std::int64_t>(i), bytes);
  }
  const Result<TensorFile> told = open_bounded(bytes, {.raw16_is_bf16 = raw16_is_bf16});
  if (!told) must_be_sound(told.error(), bytes, kName);
}

}  // namespace posenc::fuzz
