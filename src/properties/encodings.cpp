// Encodings of places as vectors, of every stage: rows of input schemes; of RoPE and score schemes what unit queries
// see of one key at each place (so R(j) k for RoPE, b(i - j) for ALiBi); of value schemes what comes out.
#include "properties/encodings.h"

#include <cmath>
#include <numeric>
#include <variant>

#include "properties/call.h"
#include "properties/input_rows.h"

namespace posenc::properties {
namespace {

// One seed for the key, the gates and the embeddings: each of them is drawn alone.
constexpr std::uint64_t kEncodingSeed = 1;  // any

double norm(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

// The same random vector in every row: one key or value, of length sqrt(head_dim) in each head.
Rows same_rows(const Size& size, std::int64_t count) {
  Numbers numbers(kEncodingSeed);
  std::vector<double> row;
  for (std::int64_t h = 0; h < size.heads; ++h) {
    const Rows head = normal_rows(numbers, 1, size.head_dim);
    const double factor = std::sqrt(static_cast<double>(size.head_dim)) / norm(head[0]);
    for (const double x : head.values) row.push_back(factor * x);
  }
  Rows out{size.channels(), {}};
  for (std::int64_t n = 0; n < count; ++n) out.values.insert(out.values.end(), row.begin(), row.end());
  return out;
}

// Row c: channel c of each head is sqrt(head_dim), which the scale of scores takes off.
Rows basis(const Size& size) {
  Rows out{size.channels(), std::vector<double>(static_cast<std::size_t>(size.head_dim * size.channels()))};
  for (std::int64_t c = 0; c < size.head_dim; ++c) {
    for (std::int64_t h = 0; h < size.heads; ++h) {
      out.values[static_cast<std::size_t>(c * size.channels() + h * size.head_dim + c)] =
          std::sqrt(static_cast<double>(size.head_dim));
    }
  }
  return out;
}

// Forget gates of any tokens, and gates of any queries.
void give_gates(const Size& size, Call& call) {
  constexpr double kLeast = 0.8;
  Numbers numbers(kEncodingSeed);
  for (std::int64_t n = 0; n < call.k.count() * size.heads; ++n) {
    call.log_forget.push_back(std::log(kLeast + (1 - kLeast) * numbers.uniform()));
  }
  call.row_gate = normal_rows(numbers, call.q.count(), size.heads).values;
}

// [places, heads * head_dim]: the score of query c and head h in channel h * head_dim + c.
Rows seen_keys(const Specimen& specimen, std::int64_t count) {
  const Size& size = specimen.size;
  Call call{.q = basis(size),
            .k = same_rows(size, count),
            .v = same_rows(size, count),
            .q_places = std::vector<std::int64_t>(static_cast<std::size_t>(size.head_dim), count - 1),
            .k_places = first_places(count)};
  give_gates(size, call);
  const std::vector<double> scores = attend(specimen, call).scores;  // [heads, channels, places]
  Rows out{size.channels(), {}};
  for (std::int64_t place = 0; place < count; ++place) {
    for (std::int64_t c = 0; c < size.channels(); ++c) {
      out.values.push_back(scores[static_cast<std::size_t>(c * count + place)]);
    }
  }
  return out;
}

// What a query at the last place takes of a value that stands alone at each place.
Rows taken_values(const Specimen& specimen, std::int64_t count) {
  const Rows one = same_rows(specimen.size, 1);
  Rows out{specimen.size.channels(), {}};
  for (std::int64_t place = 0; place < count; ++place) {
    const Rows taken =
        attend(specimen, {.q = one, .k = one, .v = one, .q_places = {count - 1}, .k_places = {place}}).out;
    out.values.insert(out.values.end(), taken.values.begin(), taken.values.end());
  }
  return out;
}

// Such a specimen may rotate q and k as well (RotatedValues): its encodings are those of values all the same.
bool changes_values(const Specimen& specimen) { return !std::holds_alternative<std::monostate>(specimen.layer.value); }

}  // namespace

// By stage: an input scheme has rows, a value scheme shows in outputs only, everything else in scores.
Rows encodings(const Specimen& specimen, std::int64_t count) {
  if (specimen.input) return position_rows(specimen, count);
  return changes_values(specimen) ? taken_values(specimen, count) : seen_keys(specimen, count);
}

// Of a rotation or a value scheme the encodings are what it makes of the one key or value; of an input scheme they are
// only added, so random embeddings are changed instead.
Changed changed(const Specimen& specimen, const Rows& encodings) {
  const std::int64_t count = encodings.count();
  if (!specimen.input) return {same_rows(specimen.size, count), encodings, specimen.size.head_dim};
  Numbers numbers(kEncodingSeed);
  const Rows x = normal_rows(numbers, count, encodings.width);
  return {x, with_positions(specimen, x, first_places(count), count), x.width};
}

}  // namespace posenc::properties
