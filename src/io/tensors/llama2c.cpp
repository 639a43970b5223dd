// Checkpoints of llama2.c: a header of sizes, then all numbers, in an order that the header decides.
//
// Version 0 (legacy) begins with seven int32, little-endian: dim, hidden_dim, layers, heads, kv_heads, vocab, length;
// a negative vocab says that the classifier has weights of its own. Version 1 begins with "24ka" (0x616b3432), its
// version, the same seven, and one byte, 1 where the classifier is shared; data follows at byte 256. All of their
// numbers are f32. Tensors bear Meta's names.          https://github.com/karpathy/llama2.c (export.py)
//
// Version 2 has after that byte an int32, the group size. Behind the norms, f32, its matrices are int8; then come as
// many tensors called NAME.scale, f32: the scale of each group of so many elements of a matrix, row after row. A group
// may cross the end of a row. An element is its int8 times the scale of its group.
//
// A version 0 file has no magic: it is taken for one only where the sizes that its header says give the file's own.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"
#include "io/tensors/tensor_list.h"

namespace posenc::io {
namespace {

constexpr std::uint32_t kVersionedMagic = 0x616b3432;
constexpr std::uint32_t kLatestVersion = 2;
constexpr std::uint64_t kDataAt = 256;  // from version 1 on

// The header. `length` is max_seq_len, `vocab` never negative once it is read.
struct Sizes {
  std::int64_t dim = 0, hidden_dim = 0, layers = 0, heads = 0, kv_heads = 0, vocab = 0, length = 0;
  bool shared = false;  // the classifier is the embedding
  std::uint32_t version = 0;
  std::int64_t group = 0;  // version 2
  std::uint64_t data_at = 0;

  std::int64_t head_dim() const { return dim / heads; }
  std::int64_t kv_dim() const { return head_dim() * kv_heads; }
};

class SizesReader {
 public:
  explicit SizesReader(ByteCursor& cursor) : cursor_(cursor) {}

  // In the order of the file, where every size must be above 0; what does not divide is refused before any division.
  Sizes read() {
    const std::uint32_t first = cursor_.u32("dim");
    if (first == kVersionedMagic) {
      sizes_.version = cursor_.u32("the version");
      if (!cursor_.failed() && (sizes_.version == 0 || sizes_.version > kLatestVersion)) {
        cursor_.fail(ErrorKind::unsupported_version, 4, {}, "llama2.c's version 0, 1 or 2",
                     formatted("{}", sizes_.version));
      }
      sizes_.dim = read_size("dim");
    } else {
      sizes_.dim = checked(static_cast<std::int32_t>(first), 0, "dim");
    }
    sizes_.hidden_dim = read_size("hidden_dim");
    sizes_.layers = read_size("n_layers");
    sizes_.heads = read_size("n_heads");
    sizes_.kv_heads = read_size("n_kv_heads");
    read_vocab();
    sizes_.length = read_size("max_seq_len");
    if (sizes_.version > 0) sizes_.shared = cursor_.u8("whether the classifier is shared") != 0;
    if (sizes_.version == 2) sizes_.group = read_size("group_size");
    sizes_.data_at = sizes_.version > 0 ? kDataAt : cursor_.position();
    if (!cursor_.failed()) check_division();
    return sizes_;
  }

 private:
  std::int64_t checked(std::int32_t size, std::uint64_t at, std::string_view what) {
    if (!cursor_.failed() && size <= 0) {
      cursor_.fail(ErrorKind::out_of_range, at, std::string(what), "1 or more", formatted("{}", size));
    }
    return size;
  }
  std::int64_t read_size(std::string_view what) {
    const std::uint64_t at = cursor_.position();
    return checked(static_cast<std::int32_t>(cursor_.u32(what)), at, what);
  }
  // The sign is version 0's flag for a classifier of its own; later versions have a byte for it, read behind the sizes.
  void read_vocab() {
    const std::uint64_t at = cursor_.position();
    const std::int64_t vocab = static_cast<std::int32_t>(cursor_.u32("vocab_size"));
    sizes_.shared = vocab > 0;
    sizes_.vocab = vocab < 0 ? -vocab : vocab;
    if (vocab > 0 || (vocab < 0 && sizes_.version == 0)) return;
    cursor_.fail(ErrorKind::out_of_range, at, "vocab_size", sizes_.version == 0 ? "any number but 0" : "1 or more",
                 formatted("{}", vocab));
  }
  void check_division() {
    const auto wrong = [&](std::string_view field, std::string expected, std::int64_t is) {
      cursor_.fail(ErrorKind::not_divisible, 0, std::string(field), std::move(expected), formatted("{}", is));
    };
    if (sizes_.dim % (2 * sizes_.heads) != 0) {
      wrong("dim", formatted("an even multiple of the {} heads", sizes_.heads), sizes_.dim);
    } else if (sizes_.heads % sizes_.kv_heads != 0) {
      wrong("n_kv_heads", formatted("a divisor of the {} heads", sizes_.heads), sizes_.kv_heads);
    }
  }

  ByteCursor& cursor_;
  Sizes sizes_;
};

// Tensors of one name, one in each layer or one in all.
struct Part {
  std::string name;
  bool per_layer = false;
  std::vector<std::int64_t> shape;
  ElementType type = ElementType::f32;
};

bool is_matrix(const Part& part) { return part.shape.size() == 2; }
// Of a matrix: two sizes below 2^31.
std::int64_t elements_of(const Part& part) { return part.shape[0] * part.shape[1]; }

// As export.py writes them: version 0 each norm beside its matrices, and tables of cos and sin before the classifier;
// later ones all norms first, and no tables. The tables are listed as tensors; posenc computes its own.
std::vector<Part> parts_in_order(const Sizes& s) {
  const Part embedding{"tok_embeddings.weight", false, {s.vocab, s.dim}};
  const Part attention_norm{"attention_norm.weight", true, {s.dim}};
  const Part ffn_norm{"ffn_norm.weight", true, {s.dim}};
  const Part norm{"norm.weight", false, {s.dim}};
  const Part wq{"attention.wq.weight", true, {s.dim, s.dim}};
  const Part wk{"attention.wk.weight", true, {s.kv_dim(), s.dim}};
  const Part wv{"attention.wv.weight", true, {s.kv_dim(), s.dim}};
  const Part wo{"attention.wo.weight", true, {s.dim, s.dim}};
  const Part w1{"feed_forward.w1.weight", true, {s.hidden_dim, s.dim}};
  const Part w2{"feed_forward.w2.weight", true, {s.dim, s.hidden_dim}};
  const Part w3{"feed_forward.w3.weight", true, {s.hidden_dim, s.dim}};
  const Part freqs_cos{"freqs_cos", false, {s.length, s.head_dim() / 2}};
  const Part freqs_sin{"freqs_sin", false, {s.length, s.head_dim() / 2}};
  std::vector<Part> parts;
  if (s.version == 0) {
    parts = {embedding, attention_norm, wq, wk, wv, wo, ffn_norm, w1, w2, w3, norm, freqs_cos, freqs_sin};
  } else {
    parts = {attention_norm, ffn_norm, norm, embedding, wq, wk, wv, wo, w1, w2, w3};
  }
  if (!s.shared) parts.push_back({"output.weight", false, {s.vocab, s.dim}});
  return parts;
}

// Version 2: norms, matrices, their scales. Of the parts before it was quantised, whose norms are together.
std::vector<Part> quantised(const std::vector<Part>& parts, std::int64_t group) {
  std::vector<Part> out = parts;
  for (const Part& part : parts) {
    if (is_matrix(part)) out.push_back({part.name + ".scale", part.per_layer, {elements_of(part) / group}});
  }
  for (Part& part : out) {
    if (is_matrix(part)) part.type = ElementType::i8;
  }
  return out;
}

// Version 2: every matrix must be whole groups, or a scale would be missing for its rest.
void check_groups(ByteCursor& cursor, const std::vector<Part>& parts, std::int64_t group) {
  const auto is_uneven = [group](const Part& part) { return is_matrix(part) && elements_of(part) % group != 0; };
  const auto uneven = std::ranges::find_if(parts, is_uneven);
  if (uneven == parts.end()) return;
  cursor.fail(ErrorKind::not_divisible, 0, "group_size",
              formatted("a divisor of the {} elements of {}", elements_of(*uneven), uneven->name),
              formatted("{}", group));
}

// Of the whole file; nothing beyond 64 bits.
std::optional<std::uint64_t> file_size(const Sizes& sizes, const std::vector<Part>& parts) {
  std::optional<std::uint64_t> size = sizes.data_at;
  for (const Part& part : parts) {
    std::optional<std::uint64_t> bytes =
        static_cast<std::uint64_t>(bits_of(part.type) / 8 * (part.per_layer ? sizes.layers : 1));
    for (const std::int64_t axis : part.shape) {
      if (bytes) bytes = checked_multiply(*bytes, static_cast<std::uint64_t>(axis));
    }
    if (!bytes || !size) return {};
    size = checked_add(*size, *bytes);
  }
  return size;
}

void check_size(ByteCursor& cursor, const Sizes& sizes, const std::vector<Part>& parts) {
  const std::optional<std::uint64_t> wanted = file_size(sizes, parts);
  const std::uint64_t have = cursor.size().value_or(0);
  if (!wanted || *wanted > INT64_MAX) {
    return cursor.fail(ErrorKind::overflow, 0, {}, "a checkpoint of less than 2^63 bytes", "sizes of more");
  }
  if (*wanted == have) return;
  cursor.fail(have < *wanted ? ErrorKind::truncated : ErrorKind::trailing_bytes, have < *wanted ? have : *wanted, {},
              formatted("{} bytes, as the header's sizes say", *wanted), formatted("{}", have));
}

}  // namespace

// All checks come before the list: once the sizes give the file's own size, no sum of offsets can overflow.
Result<TensorList> list_llama2c(ByteCursor& cursor) {
  const Sizes sizes = SizesReader(cursor).read();
  if (cursor.failed()) return cursor.error();
  std::vector<Part> parts = parts_in_order(sizes);
  if (sizes.version == 2) {
    check_groups(cursor, parts, sizes.group);
    if (cursor.failed()) return cursor.error();
    parts = quantised(parts, sizes.group);
  }
  check_size(cursor, sizes, parts);
  if (!cursor.failed() && static_cast<std::uint64_t>(sizes.layers) * parts.size() > kMaxTensors) {
    cursor.fail(ErrorKind::count_too_large, 0, "n_layers", formatted("at most {} tensors", kMaxTensors),
                formatted("{} layers", sizes.layers));
  }
  if (cursor.failed()) return cursor.error();
  TensorList list;
  auto offset = static_cast<std::int64_t>(sizes.data_at);
  for (const Part& part : parts) {
    for (std::int64_t layer = 0; layer < (part.per_layer ? sizes.layers : 1); ++layer) {
      TensorEntry entry{.name = part.per_layer ? formatted("layers.{}.{}", layer, part.name) : part.name,
                        .type = part.type,
                        .type_name = part.type == ElementType::i8 ? "int8" : "float32",
                        .shape = part.shape,
                        .strides = dense_strides(part.shape),
                        .offset = offset,
                        .bytes = *byte_count(*element_count(part.shape), part.type)};
      offset += entry.bytes;
      list.tensors.push_back(std::move(entry));
    }
  }
  return list;
}

}  // namespace posenc::io
