// The floats that kernels need of each score term's weights: biases by distance, vectors of places, projections, sines.
// Laid out so that a tile's places are one contiguous run.
#include "cpu/attend/term_vectors.h"

#include <span>
#include <variant>

#include "cpu/attend/place_vectors.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

std::vector<float> as_floats(const std::vector<double>& x) { return {x.begin(), x.end()}; }

struct MakeVectors {
  const TermMaker& maker;

  TermVectors operator()(const math::QueryDistance& term) const {
    TermVectors out;
    out.rows = projected(term.vectors, term.at.places);
    if (term.given.count > 0) out.given = projected(term.given, term.given_places);
    return out;
  }
  TermVectors operator()(const math::KeyDistance& term) const {
    TermVectors out;
    out.rows = projected(term.vectors, term.at.places);
    put_into_columns(term, out);
    return out;
  }
  TermVectors operator()(const math::SineDistance& term) const {
    TermVectors out;
    out.sines.emplace(term);
    out.weight = out.sines->arranged(term.projection);
    out.added = as_floats(term.added);
    return out;
  }
  // The function gives all heads of a distance; the table has all distances of a head, as a tile reads them.
  TermVectors operator()(const math::DistanceBias& term) const {
    TermVectors out;
    BiasTable& table = out.bias;
    table = {.low = term.low, .count = term.count, .values = std::vector<float>(index(maker.heads * term.count))};
    std::vector<double> here(index(maker.heads));
    for (std::int64_t entry = 0; entry < term.count; ++entry) {
      term.of(term.low + entry, here);
      for (std::int64_t h = 0; h < maker.heads; ++h) {
        table.values[index(h * term.count + entry)] = static_cast<float>(here[index(h)]);
      }
    }
    return out;
  }
  TermVectors operator()(const math::KeyVector& term) const { return of_rows(term.vectors); }
  TermVectors operator()(const math::Running& term) const { return of_rows(term.vectors); }
  TermVectors operator()(const math::Label&) const { return {}; }
  TermVectors operator()(const math::LinearDistance&) const { return {}; }
  TermVectors operator()(const math::Knots&) const { return {}; }
  TermVectors operator()(const math::Column&) const { return {}; }

 private:
  static TermVectors of_rows(const std::vector<double>& rows) {
    TermVectors out;
    out.rows = as_floats(rows);
    return out;
  }
  std::vector<float> projected(const math::PlaceVectors& vectors, std::span<const std::int32_t> places) const {
    const PlaceSpan span = maker.for_any_call ? PlaceSpan{0, vectors.count - 1} : span_of(places);
    return floats_of(vectors, span, maker.heads, maker.head_dim, maker.kernels, maker.parallel);
  }
  // [heads][count][channels] as [heads][channels][columns_row], zeros beyond the last place. A register that begins
  // with any place ends within the row. Rows are an odd number of lines apart, so that a place's channels spread over
  // all sets of a cache.
  void put_into_columns(const math::KeyDistance& term, TermVectors& own) const {
    constexpr std::int64_t kLine = 16;  // as_floats of 64 bytes
    const std::int64_t count = term.vectors.count;
    const std::int64_t channels = maker.head_dim;
    const std::int64_t heads = term.vectors.per_head ? maker.heads : 1;
    const std::int64_t lines = (count + maker.kernels.register_lanes - 1 + kLine - 1) / kLine;
    own.columns_row = (lines + (lines + 1) % 2) * kLine;
    own.columns.resize(index(heads * channels * own.columns_row));
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t place = 0; place < count; ++place) {
        const float* const from = own.rows.data() + (h * count + place) * channels;
        float* const to = own.columns.data() + h * channels * own.columns_row + place;
        for (std::int64_t c = 0; c < channels; ++c) to[c * own.columns_row] = from[c];
      }
    }
  }
};

}  // namespace

TermVectors TermMaker::operator()(const math::Term& term) const { return std::visit(MakeVectors{*this}, term); }

// Only biases by distance are made for a range; all else follows from the layer.
bool covers(const TermVectors& held, const math::Term& term) {
  const auto* bias = std::get_if<math::DistanceBias>(&term);
  if (bias == nullptr) return true;
  return held.bias.low <= bias->low && held.bias.low + held.bias.count >= bias->low + bias->count;
}

std::int64_t bytes_of(const TermVectors& vectors) {
  const std::size_t as_floats = vectors.rows.size() + vectors.columns.size() + vectors.given.size() +
                                vectors.weight.size() + vectors.added.size() + vectors.bias.values.size();
  return static_cast<std::int64_t>(as_floats * sizeof(float));
}

}  // namespace posenc::cpu
