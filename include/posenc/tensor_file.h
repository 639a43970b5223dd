// Files of tensors: .npy, .npz, safetensors, GGUF and llama2.c checkpoints are read; .npy and safetensors are written.
//
//   auto file = posenc::open_tensor_file("model.safetensors");
//   if (!file) report(file.error().message());
//   auto q = file->read("model.layers.0.self_attn.q_proj.weight");
//   if (q) use(q->view());
//
// Opening reads and checks the header: names, types, shapes and places, every product of sizes, and that all data lies
// within the file (docs/tensor-files.md says what each format must keep to). Whatever the bytes are, the answer is a
// list of tensors or a FileError, and memory grows by at most 64 times the header plus 1 MiB; data is read when it is
// asked for. Nothing in a file is ever evaluated: object arrays are refused.
//
// Thread safety: a TensorFile never changes; read from it on many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/error.h"
#include "posenc/export.h"
#include "posenc/tensor.h"
#include "posenc/warning.h"
#include "posenc/write_file.h"

namespace posenc::io {
struct OpenTensorFile;
}

namespace posenc::inline v0_2 {

enum class TensorFormat : std::uint8_t { npy, safetensors, gguf, llama2c, npz };
POSENC_API std::string_view name(TensorFormat format) noexcept;

// What a file's elements may be; `other` are GGUF's quantised blocks and types that are not known here.
enum class ElementType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  complex64,
  complex128,  // pairs of f32, of f64
  f8_e4m3,
  f8_e5m2,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f8_e8m0,
  f6_e2m3,
  f6_e3m2,
  f4,
  other,
};
POSENC_API std::string_view name(ElementType type) noexcept;
POSENC_API std::int64_t bits_of(ElementType type) noexcept;  // 0 of `other`
// The types that views have; nothing for the rest.
POSENC_API std::optional<DType> dtype_of(ElementType type) noexcept;

struct TensorEntry {
  std::string name;  // as the file has it; empty in a .npy file
  ElementType type = ElementType::other;
  std::string type_name;              // as the file spells it: "<f4", "BF16", "Q4_K"
  std::vector<std::int64_t> shape;    // the slowest axis first, in every format; empty: a scalar
  std::vector<std::int64_t> strides;  // in elements; the last is 1, in Fortran order the first
  std::int64_t offset = 0;            // of its data, in bytes from the start of the file
  std::int64_t bytes = -1;            // -1 where the type's size is not known
  std::int64_t file = 0;              // of an index: the number of its shard, in the order of their names
  bool big_endian = false;            // in the file; what read() gives is in the machine's order
  bool operator==(const TensorEntry&) const = default;
};

// A tensor's elements: in memory of its own, or, of a file that is mapped, in the mapping.
class POSENC_API TensorData {
 public:
  ElementType type() const noexcept { return type_; }
  std::span<const std::int64_t> shape() const noexcept { return shape_; }
  std::span<const std::int64_t> strides() const noexcept { return strides_; }  // in elements
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  // False: the bytes are the TensorFile's mapping, or the caller's own bytes, and must not outlive it.
  bool owned() const noexcept { return memory_ != nullptr || bytes_.empty(); }

  // A scalar is seen as [1]. Throw Error for a type without a DType and for more than kMaxRank axes; the second also
  // where the data is not owned.
  ConstTensorView view() const;
  TensorView mutable_view();

 private:
  friend class TensorFile;
  struct alignas(64) Line {  // of a cache: kernels load no vector from two of them
    std::byte bytes[64];
  };
  TensorData(const TensorEntry& entry, std::span<const std::byte> bytes, std::unique_ptr<Line[]> memory)
      : type_(entry.type), shape_(entry.shape), strides_(entry.strides), bytes_(bytes), memory_(std::move(memory)) {}

  ElementType type_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::span<const std::byte> bytes_;
  std::unique_ptr<Line[]> memory_;
};

// `map` gives data without a copy where it can be used as it lies: in the machine's byte order, at a multiple of its
// element's size. A mapped file that another process cuts short ends this process with SIGBUS when its data is touched:
// reading, which gives an error then, is the default.
enum class DataAccess : std::uint8_t { read, map };

struct TensorFileOptions {
  std::optional<TensorFormat> format{};  // nothing: told by the first bytes; where they say nothing, by the name's end
  DataAccess access = DataAccess::read;
  bool raw16_is_bf16 =
      false;  // .npy knows no bf16: '<V2' (what NumPy writes with ml_dtypes) and '<u2' are taken for it
};

class POSENC_API TensorFile {
 public:
  TensorFile(TensorFile&&) noexcept;
  TensorFile& operator=(TensorFile&&) noexcept;
  ~TensorFile();

  TensorFormat format() const noexcept;
  // In the order of their data; of an index, one shard after another.
  std::span<const TensorEntry> tensors() const noexcept;
  // The file that has the data of one of tensors().
  std::string_view file_of(const TensorEntry& entry) const noexcept;
  // Null when there is none.
  const TensorEntry* find(std::string_view name) const noexcept;
  // __metadata__ of safetensors; where shards disagree, the first's.
  const std::map<std::string, std::string>& metadata() const noexcept;
  const std::vector<Warning>& warnings() const noexcept;

  // The elements of tensors()[index], in the machine's byte order. An error for types of `other` size, and where the
  // file was cut short since it was opened. Throws Error for an index out of range.
  Result<TensorData> read(std::int64_t index) const;
  // Of the tensor of that name; ErrorKind::missing_key when there is none.
  Result<TensorData> read(std::string_view name) const;

 private:
  friend Result<TensorFile> make_tensor_file(std::unique_ptr<io::OpenTensorFile>&&, const TensorFileOptions&);
  explicit TensorFile(std::unique_ptr<const io::OpenTensorFile> file);
  std::unique_ptr<const io::OpenTensorFile> file_;
};

// A path that ends in ".index.json" is an index of safetensors shards, as transformers' save_pretrained writes it
// (docs/tensor-files.md): one TensorFile over all of them.
POSENC_API Result<TensorFile> open_tensor_file(const std::filesystem::path& path,
                                               const TensorFileOptions& options = {});
// From memory, which must outlive the TensorFile. `name` stands for the file in errors.
POSENC_API Result<TensorFile> open_tensor_file(std::span<const std::byte> bytes, std::string_view name,
                                               const TensorFileOptions& options = {});

// Opens and reads one tensor. Without a name: the only one, or an error that says how many there are.
POSENC_API Result<TensorData> read_tensor(const std::filesystem::path& path, std::string_view name = {},
                                          const TensorFileOptions& options = {});

// ---- writing ----

struct NamedTensor {
  std::string_view name;
  ConstTensorView tensor;
};

// Both write as write_file.h says. The same tensors give the same bytes. Throws Error for a view without data, with a
// negative size or of rank 0, for a name that stands twice, is empty, is "__metadata__" or is not UTF-8.
//
// .npy, version 1.0, in C order; bf16 as '<V2'.
POSENC_API Result<std::int64_t> write_npy(const std::filesystem::path& path, const ConstTensorView& tensor,
                                          const WriteOptions& options = {});
// Wide types first and names in order, so that data is aligned: the same bytes that the safetensors package writes.
POSENC_API Result<std::int64_t> write_safetensors(const std::filesystem::path& path,
                                                  std::span<const NamedTensor> tensors,
                                                  const std::map<std::string, std::string>& metadata = {},
                                                  const WriteOptions& options = {});

}  // namespace posenc::inline v0_2
