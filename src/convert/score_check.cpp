#include "convert/score_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <set>
#include <span>
#include <vector>

#include "base/formatted.h"

namespace posenc::conversion {
namespace {

constexpr std::int64_t kRowPiece = std::int64_t{1} << 20;  // bytes of a row that are in memory
constexpr std::int64_t kHeads = 3;                         // of an attention: the first, the last, one between

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a number for each place, without a table of them.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// In [-1, 1), 53 bits of it.
double random_number(std::uint64_t place) { return static_cast<double>(mixed(place) >> 11) * 0x1p-52 - 1.0; }

constexpr std::uint64_t kInputSeed = std::uint64_t{1} << 56;
constexpr std::uint64_t kQueryAngles = std::uint64_t{2} << 56;
constexpr std::uint64_t kKeyAngles = std::uint64_t{3} << 56;

// Bytes of one element as a number; nothing for types that stand for their bytes.
int width_of(ElementType type) {
  switch (type) {
    case ElementType::f64: return 8;
    case ElementType::f32: return 4;
    case ElementType::f16:
    case ElementType::bf16: return 2;
    default: return 0;
  }
}

std::uint64_t word(const std::byte* bytes, int width, bool big_endian) {
  std::uint64_t out = 0;
  for (int i = 0; i < width; ++i) {
    const int place = big_endian ? width - 1 - i : i;
    out |= static_cast<std::uint64_t>(bytes[i]) << (8 * place);
  }
  return out;
}

// IEEE 754 binary16, widened.
double half_number(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0 + fraction, exponent - 25);
}

double number_of(std::uint64_t bits, ElementType type) {
  switch (type) {
    case ElementType::f64: return std::bit_cast<double>(bits);
    case ElementType::f32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case ElementType::bf16: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
    default: return half_number(static_cast<std::uint16_t>(bits));
  }
}

// One row as one number: the sum over its elements, or over its bytes, times random numbers.
class RowReader {
 public:
  std::optional<FileError> error{};

  double read(const io::OpenTensorFile& file, const TensorMove& move, std::int64_t row) {
    const TensorEntry& entry = file.list.tensors[move.entry];
    const int width = width_of(entry.type);
    const bool factor = move.use == RowUse::multiplies;
    double numbers = 0.0;
    double bytes_sum = 0.0;
    std::int64_t at = 0;
    while (at < move.row_bytes) {
      const std::int64_t count = std::min(kRowPiece, move.row_bytes - at);
      bytes_.resize(static_cast<std::size_t>(count));
      error = file.source_of(entry).read(static_cast<std::uint64_t>(entry.offset + row * move.row_bytes + at), bytes_,
                                         entry.name);
      if (error) return 0.0;
      // A factor is the number itself, where it is one.
      const auto weight = [&](std::int64_t place) {
        return factor ? 1.0 : random_number(kInputSeed + static_cast<std::uint64_t>(place));
      };
      if (width > 0) {
        for (std::int64_t i = 0; i + width <= count; i += width) {
          const std::uint64_t bits = word(bytes_.data() + i, width, entry.big_endian);
          numbers += number_of(bits, entry.type) * weight((at + i) / width);
        }
      }
      if (width == 0 || !std::isfinite(numbers)) bytes_sum += sum_of_bytes(at, weight);
      at += count;
    }
    return width > 0 && std::isfinite(numbers) ? numbers : bytes_sum;
  }

 private:
  template <typename Weight>
  double sum_of_bytes(std::int64_t at, const Weight& weight) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      sum += (1.0 + static_cast<double>(bytes_[i])) / 256.0 * weight(at + static_cast<std::int64_t>(i));
    }
    return sum;
  }

  std::vector<std::byte> bytes_;
};

// The rows of one head of q or k in each of an attention's tensors.
struct HeadParts {
  struct Part {
    const TensorMove* move;
    std::int64_t start;
  };
  std::vector<Part> parts;
  std::int64_t channels = 0;
  std::int64_t first_channel = 0;
  std::int64_t dim = 0;
};

// Which heads a kind has: the most of any of its tensors. A norm that all heads share has one.
std::int64_t head_count(const RowMoves& moves, const AttentionMoves& attention, bool keys) {
  std::int64_t count = 0;
  for (const std::size_t i : attention.moves) {
    for (const HeadRows& heads : moves.moves[i].heads) {
      if (heads.keys == keys) count = std::max(count, std::ssize(heads.starts));
    }
  }
  return count;
}

HeadParts parts_of(const RowMoves& moves, const AttentionMoves& attention, bool keys, std::int64_t head) {
  HeadParts out;
  for (const std::size_t i : attention.moves) {
    const TensorMove& move = moves.moves[i];
    for (const HeadRows& heads : move.heads) {
      if (heads.keys != keys || heads.starts.empty()) continue;
      const auto at = static_cast<std::size_t>(std::min(head, std::ssize(heads.starts) - 1));
      out.parts.push_back({&move, heads.starts[at]});
      out.channels = heads.channels;
      out.first_channel = heads.first_channel;
      out.dim = heads.dim;
    }
  }
  return out;
}

// What adds, times what multiplies. Of nothing that adds, what multiplies alone.
std::vector<double> numbers_of(const io::OpenTensorFile& file, const HeadParts& head, RowReader& reader) {
  std::vector<double> out(static_cast<std::size_t>(head.dim));
  const bool adds =
      std::ranges::any_of(head.parts, [](const HeadParts::Part& p) { return p.move->use == RowUse::adds; });
  for (std::int64_t c = 0; c < head.dim && !reader.error; ++c) {
    double sum = adds ? 0.0 : 1.0;
    double factor = 1.0;
    for (const HeadParts::Part& part : head.parts) {
      const double number = reader.read(file, *part.move, part.start + head.first_channel + c);
      if (part.move->use == RowUse::adds) sum += number;
      if (part.move->use == RowUse::multiplies) factor *= number;
    }
    out[static_cast<std::size_t>(c)] = sum * factor;
  }
  return out;
}

// The channels that rotate, rotated. Written out, so that it does not share the order of rows with what it judges.
void rotate(std::vector<double>& x, Pairing pairing, std::uint64_t angles) {
  const std::size_t pairs = x.size() / 2;
  for (std::size_t p = 0; p < pairs; ++p) {
    double& a = x[pairing == Pairing::half ? p : 2 * p];
    double& b = x[pairing == Pairing::half ? p + pairs : 2 * p + 1];
    const double t = std::numbers::pi * random_number(angles + p);
    const double turned = a * std::cos(t) - b * std::sin(t);
    b = a * std::sin(t) + b * std::cos(t);
    a = turned;
  }
}

struct Score {
  double sum = 0.0;
  double magnitude = 0.0;
};

Score score(const std::vector<double>& q, const std::vector<double>& k) {
  Score out;
  for (std::size_t c = 0; c < q.size(); ++c) {
    out.sum += q[c] * k[c];
    out.magnitude += std::abs(q[c] * k[c]);
  }
  return out;
}

// First, last, and one between that differs from attention to attention.
std::set<std::int64_t> chosen_heads(std::int64_t count, std::uint64_t attention) {
  std::set<std::int64_t> out{0, count - 1};
  if (count > 2) out.insert(1 + static_cast<std::int64_t>(mixed(attention) % static_cast<std::uint64_t>(count - 2)));
  return out;
}

class ScoreCheck {
 public:
  ScoreCheck(const io::OpenTensorFile& before, const io::OpenTensorFile& after, const RowMoves& moves,
             Pairings pairings)
      : before_(before), after_(after), moves_(moves), pairings_(pairings) {}

  std::optional<FileError> check(const AttentionMoves& attention, std::int64_t head, CheckedScores& scores) {
    const std::int64_t heads = head_count(moves_, attention, false);
    const std::int64_t kv_heads = head_count(moves_, attention, true);
    HeadParts q = parts_of(moves_, attention, heads == 0, heads == 0 ? 0 : head);
    HeadParts k = parts_of(moves_, attention, kv_heads > 0,
                           kv_heads == 0 ? head : head * kv_heads / std::max<std::int64_t>(heads, 1));
    if (q.dim != k.dim) return {};
    const Score was = of(before_, q, k, pairings_.from);
    const Score is = of(after_, q, k, pairings_.to);
    if (reader_.error) return reader_.error;
    ++scores.heads;
    // Rows are the same bytes, so that channels are the same numbers. What differs is the order in which `dim` products
    // are summed: each sum is off by at most dim u of the magnitudes; rotated numbers are the same but where the
    // products of a and b are rounded in another order, which they are not. Twice that for two sums.
    const double magnitude = std::max({was.magnitude, is.magnitude, std::numeric_limits<double>::min()});
    scores.bound = std::max(scores.bound, 2.0 * static_cast<double>(q.dim) * 0x1p-53);
    const double difference = std::abs(was.sum - is.sum) / magnitude;
    scores.difference = std::max(scores.difference, difference);
    if (difference <= 2.0 * static_cast<double>(q.dim) * 0x1p-53 || !std::isfinite(magnitude)) return {};
    const TensorEntry& entry = after_.list.tensors[q.parts.front().move->entry];
    return after_.error(ErrorKind::bad_value, entry, formatted("a score of {} in head {}, as before", was.sum, head),
                        formatted("{}", is.sum), "the converted file is not what it should be");
  }

 private:
  Score of(const io::OpenTensorFile& file, const HeadParts& q, const HeadParts& k, Pairing pairing) {
    std::vector<double> queries = numbers_of(file, q, reader_);
    std::vector<double> keys = numbers_of(file, k, reader_);
    rotate(queries, pairing, kQueryAngles);
    rotate(keys, pairing, kKeyAngles);
    return score(queries, keys);
  }

  const io::OpenTensorFile& before_;
  const io::OpenTensorFile& after_;
  const RowMoves& moves_;
  Pairings pairings_;
  RowReader reader_;
};

// Of one pair of heads, read before and after.
std::int64_t bytes_of_heads(const RowMoves& moves, const AttentionMoves& attention) {
  std::int64_t bytes = 0;
  for (const std::size_t i : attention.moves) {
    for (const HeadRows& heads : moves.moves[i].heads) bytes += 2 * heads.dim * moves.moves[i].row_bytes;
  }
  return bytes;
}

std::int64_t heads_to_check(const RowMoves& moves, const AttentionMoves& attention) {
  return std::max<std::int64_t>(1, std::min(kHeads, head_count(moves, attention, false)));
}

}  // namespace

std::int64_t bytes_to_check(const RowMoves& moves) {
  std::int64_t bytes = 0;
  for (const AttentionMoves& attention : moves.attentions) {
    bytes += heads_to_check(moves, attention) * bytes_of_heads(moves, attention);
  }
  return bytes;
}

Result<CheckedScores> check_scores(const io::OpenTensorFile& before, const io::OpenTensorFile& after,
                                   const RowMoves& moves, Pairings pairings,
                                   const std::function<bool(std::int64_t bytes)>& keep_going) {
  CheckedScores out;
  ScoreCheck check(before, after, moves, pairings);
  std::int64_t done = 0;
  for (std::size_t i = 0; i < moves.attentions.size(); ++i) {
    const AttentionMoves& attention = moves.attentions[i];
    const std::int64_t heads = std::max<std::int64_t>(1, head_count(moves, attention, false));
    for (const std::int64_t head : chosen_heads(heads, i)) {
      if (auto error = check.check(attention, head, out)) return *std::move(error);
    }
    done += heads_to_check(moves, attention) * bytes_of_heads(moves, attention);
    if (keep_going && !keep_going(done)) break;
  }
  return out;
}

}  // namespace posenc::conversion
