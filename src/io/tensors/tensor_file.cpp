// open_tensor_file and TensorFile of posenc/tensor_file.h: the format by name or first bytes, then the reader of that
// format (npy.cpp, safetensors.cpp, llama2c.cpp, gguf_list.cpp), or an index of safetensors shards.
#include "posenc/tensor_file.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/formatted.h"
#include "io/tensors/open_tensor_file.h"
#include "io/tensors/tensor_shards.h"

namespace posenc::inline v0_2 {

using io::OpenTensorFile;

namespace {

constexpr std::size_t kMaxShownName = 256;  // bytes

// The list is read before the source moves into its place; a cursor would not survive the move.
Result<std::unique_ptr<OpenTensorFile>> open_one(io::ByteSource source, const TensorFileOptions& options) {
  const Result<TensorFormat> format = options.format ? Result<TensorFormat>(*options.format) : find_format(source);
  if (!format) return format.error();
  Result<io::TensorList> list = list_tensors(source, *format, options.raw16_is_bf16);
  if (!list) return list.error();
  auto out = std::make_unique<OpenTensorFile>(source.name(), *format);
  out->sources.push_back(std::move(source));
  out->list = std::move(*list);
  return out;
}

}  // namespace
}  // namespace posenc::inline v0_2

namespace posenc::io {

FileError OpenTensorFile::error(ErrorKind kind, const TensorEntry& entry, std::string expected, std::string got,
                                std::string detail) const {
  FileError error;
  error.kind = kind;
  error.file = source_of(entry).name();
  error.offset = std::min(entry.offset, static_cast<std::int64_t>(source_of(entry).size()));
  error.path = entry.name.substr(0, kMaxShownName);
  error.expected = std::move(expected);
  error.got = std::move(got);
  error.detail = std::move(detail);
  return error;
}

}  // namespace posenc::io

namespace posenc::inline v0_2 {

// The one that makes a TensorFile; tensor_file.h makes it a friend.
Result<TensorFile> make_tensor_file(std::unique_ptr<OpenTensorFile>&& file, const TensorFileOptions& options) {
  file->access = options.access;
  file->by_name.resize(file->list.tensors.size());
  std::iota(file->by_name.begin(), file->by_name.end(), 0U);
  const auto name_of = [&](std::uint32_t i) -> std::string_view { return file->list.tensors[i].name; };
  std::ranges::sort(file->by_name, {}, name_of);
  if (options.access == DataAccess::map) {
    for (io::ByteSource& source : file->sources) {
      if (auto error = source.map()) return *std::move(error);
    }
  }
  return TensorFile(std::move(file));
}

TensorFile::TensorFile(std::unique_ptr<const OpenTensorFile> file) : file_(std::move(file)) {}
TensorFile::TensorFile(TensorFile&&) noexcept = default;
TensorFile& TensorFile::operator=(TensorFile&&) noexcept = default;
TensorFile::~TensorFile() = default;

std::string_view TensorFile::file_of(const TensorEntry& entry) const noexcept { return file_->source_of(entry).name(); }
TensorFormat TensorFile::format() const noexcept { return file_->format; }
std::span<const TensorEntry> TensorFile::tensors() const noexcept { return file_->list.tensors; }
const std::map<std::string, std::string>& TensorFile::metadata() const noexcept { return file_->list.metadata; }
const std::vector<Warning>& TensorFile::warnings() const noexcept { return file_->list.warnings; }

const TensorEntry* TensorFile::find(std::string_view name) const noexcept {
  const std::vector<TensorEntry>& tensors = file_->list.tensors;
  const auto name_of = [&](std::uint32_t i) -> std::string_view { return tensors[i].name; };
  const auto found = std::ranges::lower_bound(file_->by_name, name, {}, name_of);
  return found != file_->by_name.end() && name_of(*found) == name ? &tensors[*found] : nullptr;
}

Result<TensorData> TensorFile::read(std::string_view name) const {
  const TensorEntry* const entry = find(name);
  if (entry != nullptr) return read(entry - file_->list.tensors.data());
  FileError error;
  error.kind = ErrorKind::missing_key;
  error.file = file_->name;
  error.path = name.substr(0, kMaxShownName);
  error.expected = "a tensor of that name";
  error.got = formatted("none among {}", file_->list.tensors.size());
  return error;
}

Result<TensorFile> open_tensor_file(const std::filesystem::path& path, const TensorFileOptions& options) {
  if (!options.format && io::is_shard_index(path)) {
    Result<std::unique_ptr<OpenTensorFile>> shards = io::open_shards(path);
    return shards ? make_tensor_file(std::move(*shards), options) : shards.error();
  }
  Result<io::RegularFile> file = io::RegularFile::open(path);
  if (!file) return file.error();
  Result<std::unique_ptr<OpenTensorFile>> one = open_one(io::ByteSource(std::move(*file)), options);
  return one ? make_tensor_file(std::move(*one), options) : one.error();
}

Result<TensorFile> open_tensor_file(std::span<const std::byte> bytes, std::string_view name,
                                    const TensorFileOptions& options) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Result<std::unique_ptr<OpenTensorFile>> one = open_one(io::ByteSource(text, std::string(name)), options);
  return one ? make_tensor_file(std::move(*one), options) : one.error();
}

Result<TensorData> read_tensor(const std::filesystem::path& path, std::string_view name,
                               const TensorFileOptions& options) {
  TensorFileOptions reading = options;
  reading.access = DataAccess::read;  // the file is closed before the data is used
  const Result<TensorFile> file = open_tensor_file(path, reading);
  if (!file) return file.error();
  if (!name.empty()) return file->read(name);
  if (file->tensors().size() == 1) return file->read(0);
  FileError error;
  error.kind = ErrorKind::missing_key;
  error.file = path.native();
  error.expected = "the name of a tensor";
  error.got = "none";
  error.detail = formatted("the file has {} tensors", file->tensors().size());
  return error;
}

}  // namespace posenc::inline v0_2
