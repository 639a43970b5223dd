// Which layers have keys made of several tokens each (DeepSeek V4: layer_types, else compress_ratios), and of how many.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

using io::JsonValue;

enum class Compressor : std::uint8_t { none, sparse, heavy };

struct CompressorName {
  std::string_view layer_type;  // also the key in compress_rates
  Compressor compressor;
  std::int64_t ratio;  // of compress_ratios, and the rate where no key gives another: DeepseekV4Config
};
constexpr CompressorName kCompressors[] = {
    {"sliding_attention", Compressor::none, 0},
    {"compressed_sparse_attention", Compressor::sparse, 4},
    {"heavily_compressed_attention", Compressor::heavy, 128},
};
constexpr Bounds kRates{1, kMaxPosition};

const CompressorName& row_of(Compressor compressor) {
  return *std::ranges::find(kCompressors, compressor, &CompressorName::compressor);
}

// ---- which layers ----

Compressor named(ConfigReader& reader, const JsonValue& entry) {
  const Place place{entry, entry.pointer()};
  const auto text = reader.string(place);
  if (!text) return Compressor::none;
  const auto row = std::ranges::find(kCompressors, *text, &CompressorName::layer_type);
  if (row != std::ranges::end(kCompressors)) return row->compressor;
  reader.fail(place, ErrorKind::out_of_range,
              "sliding_attention, compressed_sparse_attention or heavily_compressed_attention");
  return Compressor::none;
}

Compressor numbered(ConfigReader& reader, const JsonValue& entry) {
  const Place place{entry, entry.pointer()};
  const auto ratio = reader.integer(place, {0, kMaxPosition});
  if (!ratio) return Compressor::none;
  const auto row = std::ranges::find(kCompressors, *ratio, &CompressorName::ratio);
  if (row != std::ranges::end(kCompressors)) return row->compressor;
  reader.fail(place, ErrorKind::out_of_range, "0, 4 or 128");
  return Compressor::none;
}

// Two heavy layers, then heavy and sparse ones in turn.
Compressor by_class(std::int64_t layer) {
  return layer >= 2 && layer % 2 != 0 ? Compressor::sparse : Compressor::heavy;
}

Sourced<std::vector<Compressor>> read_compressors(ConfigScope& scope, std::int64_t layers) {
  Sourced<std::vector<Compressor>> compressors;
  if (const auto types = read_layer_list(scope, keys::kLayerTypes, layers)) {
    compressors.from = types->place.from;
    for (const JsonValue& entry : types->entries) compressors.value.push_back(named(scope.reader(), entry));
  } else if (const auto ratios = read_layer_list(scope, keys::kCompressRatios, layers)) {
    compressors.from = ratios->place.from;
    for (const JsonValue& entry : ratios->entries) compressors.value.push_back(numbered(scope.reader(), entry));
  } else {
    compressors.from = family_default(scope.family());
    for (std::int64_t i = 0; i < layers; ++i) compressors.value.push_back(by_class(i));
  }
  return compressors;
}

// ---- how many tokens ----

// compress_rates: {"compressed_sparse_attention": 4, ...}; older files have a key for each.
std::int64_t read_rate(ConfigScope& scope, Compressor compressor) {
  ConfigReader& reader = scope.reader();
  const CompressorName& row = row_of(compressor);
  const Key& old = compressor == Compressor::sparse ? keys::kSparseRate : keys::kHeavyRate;
  if (const Setting<std::int64_t> rate = scope.integer(old, kRates); rate.value) return *rate.value;
  const auto rates = scope.peek(keys::kCompressRates);
  if (!rates || rates->value.kind() != io::JsonKind::object) return row.ratio;
  reader.enter(rates->value);
  const auto place = reader.look(rates->value, row.layer_type);
  if (!place || place->value.is_null()) return row.ratio;
  reader.mark_read(*place);
  return reader.integer(*place, kRates).value_or(row.ratio);
}

}  // namespace

void read_compression(ConfigScope& scope, LayerPattern& pattern) {
  if (!scope.family().compressed_keys) return;
  Sourced<std::vector<Compressor>> compressors =
      read_compressors(scope, static_cast<std::int64_t>(pattern.layers.size()));
  if (scope.reader().failed()) return;
  const std::int64_t sparse = read_rate(scope, Compressor::sparse);
  const std::int64_t heavy = read_rate(scope, Compressor::heavy);
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    const Compressor compressor = compressors.value[i];
    if (compressor == Compressor::none) continue;
    pattern.layers[i].compression = compressor == Compressor::sparse ? sparse : heavy;
    if (compressor == Compressor::sparse) pattern.layers[i].choice = Choice::own;
  }
  pattern.compression_from = std::move(compressors.from);
}

}  // namespace posenc::plan
