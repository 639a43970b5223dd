#include "convert/copy_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "posenc/pairing.h"

namespace posenc::conversion {
namespace {

constexpr std::int64_t kCopiedAtOnce = std::int64_t{4} << 20;  // bytes

// Rows of one head that change places among themselves.
struct Span {
  std::int64_t first = 0;  // row
  std::int64_t dim = 0;    // rows
};

// In the order of the file. Heads do not overlap: each has rows of its own.
std::vector<Span> spans_of(const TensorMove& move) {
  std::vector<Span> out;
  for (const HeadRows& heads : move.heads) {
    for (const std::int64_t start : heads.starts) out.push_back({start + heads.first_channel, heads.dim});
  }
  std::ranges::sort(out, {}, &Span::first);
  return out;
}

class Copier {
 public:
  Copier(const io::ByteSource& source, const TakeBytes& take) : source_(source), take_(take) {}

  bool copy(std::int64_t from, std::int64_t bytes) {
    while (bytes > 0) {
      const std::int64_t piece = std::min(bytes, kCopiedAtOnce);
      if (!read(from, piece) || !take_(std::span(read_).first(static_cast<std::size_t>(piece)))) return false;
      from += piece;
      bytes -= piece;
    }
    return true;
  }

  // Row c of the result is row order[c] of `from` on. As many rows as fit are read at once, all of a head where that is
  // possible; of rows that are larger, one after another.
  bool copy_in_order(std::int64_t from, std::int64_t row_bytes, const std::vector<std::int64_t>& order) {
    const std::int64_t all = std::ssize(order) * row_bytes;
    if (all > kCopiedAtOnce) {
      for (const std::int64_t row : order) {
        if (!copy(from + row * row_bytes, row_bytes)) return false;
      }
      return true;
    }
    if (!read(from, all)) return false;
    ordered_.resize(static_cast<std::size_t>(all));
    const auto width = static_cast<std::size_t>(row_bytes);
    for (std::size_t c = 0; c < order.size(); ++c) {
      std::memcpy(ordered_.data() + c * width, read_.data() + static_cast<std::size_t>(order[c]) * width, width);
    }
    return take_(ordered_);
  }

  std::optional<FileError> take_error() { return std::exchange(error_, {}); }

 private:
  bool read(std::int64_t from, std::int64_t bytes) {
    if (std::ssize(read_) < bytes) read_.resize(static_cast<std::size_t>(bytes));
    error_ = source_.read(static_cast<std::uint64_t>(from), std::span(read_).first(static_cast<std::size_t>(bytes)),
                          "the file's bytes");
    return !error_;
  }

  const io::ByteSource& source_;
  const TakeBytes& take_;
  std::vector<std::byte> read_;
  std::vector<std::byte> ordered_;
  std::optional<FileError> error_;
};

}  // namespace

std::optional<FileError> copy_rows(const io::OpenTensorFile& file, std::size_t source,
                                   std::span<const TensorMove* const> moves, Pairings pairings, const Splices& splices,
                                   const TakeBytes& take) {
  const io::ByteSource& bytes = file.sources[source];
  Copier copier(bytes, take);
  std::int64_t at = 0;
  for (const Splice& one : splices) {
    if (!copier.copy(at, one.at - at)) return copier.take_error();
    if (!one.put.empty() && !take(std::as_bytes(std::span(one.put)))) return {};
    at = one.at + one.removed;
  }
  std::vector<std::int64_t> order;
  for (const TensorMove* move : moves) {
    const std::int64_t data = file.list.tensors[move->entry].offset;
    for (const Span& span : spans_of(*move)) {
      const std::int64_t begin = data + span.first * move->row_bytes;
      if (!copier.copy(at, begin - at)) return copier.take_error();
      if (std::ssize(order) != span.dim) {
        order = pairing_order({.pairing = pairings.from, .head_dim = span.dim, .dim = span.dim}, pairings.to);
      }
      if (!copier.copy_in_order(begin, move->row_bytes, order)) return copier.take_error();
      at = begin + span.dim * move->row_bytes;
    }
  }
  copier.copy(at, static_cast<std::int64_t>(bytes.size()) - at);
  return copier.take_error();
}

}  // namespace posenc::conversion
