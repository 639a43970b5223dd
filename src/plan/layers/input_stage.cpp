// What is added to the embeddings: learned, sinusoidal or axial tables, convolutions; and the factor on embeddings.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/layers.h"
#include "plan/layers/patch_grid.h"

namespace posenc::plan {
namespace {

constexpr std::size_t kMaxAxes = 8;

// Reads the fields of one scheme and remembers where each came from.
class InputFields {
 public:
  InputFields(ConfigScope& scope, const InputRule& rule, std::size_t index)
      : scope_(scope), rule_(rule), index_(index) {}

  std::int64_t offset() {
    if (rule_.offset_key != nullptr) {
      const Key& key = scope_.peek(*rule_.offset_key) ? *rule_.offset_key : keys::kPredictionLength;
      const Sourced<std::int64_t> rows = scope_.required_integer(key, {0, kMaxPosition});
      note("offset", rows.from);
      return rows.value;
    }
    if (!rule_.offset_after_padding) {
      note("offset", family_default(scope_.family()));
      return rule_.offset;
    }
    const Sourced<std::int64_t> padding = scope_.required_integer(keys::kPadding, {0, kMaxPosition});
    note("offset", padding.from);
    return padding.value + 1;
  }

  std::optional<std::int64_t> token_types() {
    if (!rule_.token_types) return {};
    const Setting<std::int64_t> types = scope_.integer(keys::kTokenTypes, {0, kMaxPosition});
    note("token_types", types.from);
    return types.value.value_or(0) > 0 ? types.value : std::nullopt;
  }

  double multiplier() {
    if (!rule_.scaled) {
      note("embedding_multiplier", family_default(scope_.family()));
      return rule_.always_scaled ? root_of_width() : 1;
    }
    const Setting<bool> scaled = scope_.flag(keys::kScaleEmbedding);
    note("embedding_multiplier", scaled.from);
    return scaled.value.value_or(false) ? root_of_width() : 1;
  }

  double root_of_width() {
    return std::sqrt(static_cast<double>(scope_.required_integer(keys::kHidden, {1, kMaxHiddenSize}).value));
  }

  void note(std::string_view field, std::string from) {
    sources_.push_back({formatted("input/{}/{}", index_, field), std::move(from)});
  }

  std::vector<FieldSource> take() { return std::move(sources_); }

 private:
  ConfigScope& scope_;
  const InputRule& rule_;
  std::size_t index_;
  std::vector<FieldSource> sources_;
};

// Rows of the table, and with them how many tokens find one.
std::optional<std::int64_t> read_rows(ConfigScope& scope, InputFields& fields, Rows rule, std::int64_t offset,
                                      Sourced<std::int64_t>& length) {
  fields.note("positions", length.from);
  if (rule == Rows::unlimited) return {};
  if (rule == Rows::beside) return length.value + offset;
  const std::int64_t rows = length.value;
  if (rows > offset) {
    length.value = rows - offset;
  } else {
    scope.fail(keys::kLength, ErrorKind::out_of_range,
               formatted("more rows than the {} before the first token", offset));
  }
  return rows;
}

InputStage learned(ConfigScope& scope, const InputRule& rule, InputFields fields, Sourced<std::int64_t> length) {
  LearnedInput table;
  table.offset = fields.offset();
  table.positions = read_rows(scope, fields, rule.rows, table.offset, length).value_or(1);
  table.token_types = fields.token_types();
  table.embedding_multiplier = fields.multiplier();
  return {{table}, fields.take(), std::move(length)};
}

InputStage sinusoidal(ConfigScope& scope, const InputRule& rule, InputFields fields, Sourced<std::int64_t> length) {
  SinusoidalInput sines;
  sines.convention = rule.convention;
  fields.note("convention", family_default(scope.family()));
  sines.offset = fields.offset();
  sines.positions = read_rows(scope, fields, rule.rows, sines.offset, length);
  sines.axis = rule.axis;
  sines.embedding_multiplier = fields.multiplier();
  sines.learned_scale = rule.learned_scale;
  return {{sines}, fields.take(), std::move(length)};
}

std::vector<std::int64_t> axis_sizes(ConfigScope& scope, InputFields& fields, const Key& key, std::string_view field) {
  const auto place = scope.find(key);
  if (!place) {
    scope.fail_missing(key);
    return {};
  }
  fields.note(field, place->from);
  const auto entries = scope.reader().list(*place);
  if (!entries) return {};
  if (entries->empty() || entries->size() > kMaxAxes) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, formatted("1 to {} axes", kMaxAxes));
    return {};
  }
  std::vector<std::int64_t> sizes;
  for (const io::JsonValue& entry : *entries) {
    sizes.push_back(scope.reader().integer({entry, entry.pointer()}, {1, kMaxHiddenSize}).value_or(1));
  }
  return sizes;
}

// The axes' rows stand side by side, so that their channels add up to the hidden size.
InputStage axial(ConfigScope& scope, InputFields fields, Sourced<std::int64_t> length) {
  AxialInput table{.shape = axis_sizes(scope, fields, keys::kAxialShape, "shape"),
                   .combine = AxialCombine::concatenate,
                   .dims = axis_sizes(scope, fields, keys::kAxialDims, "dims")};
  fields.note("combine", family_default(scope.family()));
  const std::int64_t hidden = scope.required_integer(keys::kHidden, {1, kMaxHiddenSize}).value;
  if (scope.reader().failed()) return {{}, {}, std::move(length)};
  const std::int64_t channels = std::accumulate(table.dims.begin(), table.dims.end(), std::int64_t{0});
  if (table.dims.size() != table.shape.size()) {
    scope.fail(keys::kAxialDims, ErrorKind::length_mismatch,
               formatted("{} entries, one for each axis", table.shape.size()));
  } else if (channels != hidden) {
    scope.fail(keys::kAxialDims, ErrorKind::out_of_range,
               formatted("channels that add up to the {} of the embedding", hidden),
               formatted("they add up to {}", channels));
  }
  return {{std::move(table)}, fields.take(), std::move(length)};
}

// The box of a token on a page (LayoutLM, arXiv 1912.13318): rows for left, top, right, bottom, height and width. Left
// and right share a table, top and bottom too. Side by side (LayoutLMv3), corners have one width and sizes another.
InputStage boxes(ConfigScope& scope, InputFields fields, Sourced<std::int64_t> length) {
  constexpr std::size_t kCorners = 4;
  constexpr std::size_t kCoordinates = 6;
  const Sourced<std::int64_t> rows = scope.required_integer(keys::kBoxRows, {1, kMaxPosition});
  fields.note("shape", rows.from);
  AxialInput table{.shape = std::vector(kCoordinates, rows.value), .combine = AxialCombine::add, .dims = {}};
  fields.note("combine", family_default(scope.family()));
  if (!scope.peek(keys::kCornerDim)) return {{std::move(table)}, fields.take(), std::move(length)};
  const Sourced<std::int64_t> corner = scope.required_integer(keys::kCornerDim, {1, kMaxHiddenSize});
  const Sourced<std::int64_t> size = scope.required_integer(keys::kBoxSizeDim, {1, kMaxHiddenSize});
  fields.note("dims", corner.from);
  table.combine = AxialCombine::concatenate;
  table.dims.assign(kCoordinates, size.value);
  std::fill_n(table.dims.begin(), kCorners, corner.value);
  return {{std::move(table)}, fields.take(), std::move(length)};
}

// Each group of a convolution has as many channels as the others.
void require_even_groups(ConfigScope& scope, std::int64_t groups) {
  const std::int64_t hidden = scope.required_integer(keys::kHidden, {1, kMaxHiddenSize}).value;
  if (scope.reader().failed() || hidden % groups == 0) return;
  scope.fail(keys::kConvGroups, ErrorKind::not_divisible,
             formatted("a divisor of the {} channels of the model", hidden));
}

// No table: `length` stays what it is.
InputStage convolution(ConfigScope& scope, const InputRule& rule, InputFields fields, Sourced<std::int64_t> length) {
  constexpr Bounds kSizes{1, kMaxHiddenSize};
  const auto read = [&](const Key& key, std::string_view field) {
    Sourced<std::int64_t> size = scope.required_integer(key, kSizes);
    fields.note(field, std::move(size.from));
    return size.value;
  };
  ConvolutionInput conv{.kernel = read(*rule.kernel, "kernel"), .groups = read(keys::kConvGroups, "groups")};
  if (rule.layers != nullptr) conv.layers = read(*rule.layers, "layers");
  if (rule.stride != nullptr) conv.stride = read(*rule.stride, "stride");
  require_even_groups(scope, conv.groups);
  return {{conv}, fields.take(), std::move(length)};
}

// Tables of other tokens than the text's: `length` stays what it is.
InputStage of_others(ConfigScope& scope, const InputRule& rule, InputFields fields, Sourced<std::int64_t> length) {
  constexpr Bounds kRows{1, kMaxPosition};
  fields.note("tokens", family_default(scope.family()));
  if (rule.kind == InputKind::patches) {
    const PatchGrid grid = read_patch_grid(scope, rule.table_rows != nullptr ? *rule.table_rows : keys::kImageSize);
    fields.note("positions", grid.from);
    const LearnedInput table{.positions = grid.height * grid.width + 1, .tokens = std::string(rule.tokens)};
    return {{table}, fields.take(), std::move(length)};
  }
  const Sourced<std::int64_t> rows = scope.required_integer(*rule.table_rows, kRows);
  if (rule.kind == InputKind::rows) {
    fields.note("positions", rows.from);
    return {
        {LearnedInput{.positions = rows.value, .tokens = std::string(rule.tokens)}}, fields.take(), std::move(length)};
  }
  const Sourced<std::int64_t> columns = scope.required_integer(*rule.table_columns, kRows);
  fields.note("shape", rows.from);
  const AxialInput tables{.shape = {rows.value, columns.value}, .tokens = std::string(rule.tokens)};
  return {{tables}, fields.take(), std::move(length)};
}

InputStage read_one(ConfigScope& scope, const InputRule& rule, std::size_t index, Sourced<std::int64_t> length) {
  InputKind kind = rule.kind;
  if (rule.present_if != nullptr && !scope.flag(*rule.present_if).value.value_or(true)) kind = InputKind::none;
  if (rule.absent_if != nullptr && scope.flag(*rule.absent_if).value.value_or(false)) kind = InputKind::none;
  if (rule.learned_unless != nullptr && !scope.flag(*rule.learned_unless).value.value_or(true)) {
    kind = InputKind::learned;
  }
  InputFields fields(scope, rule, index);
  switch (kind) {
    case InputKind::none: break;
    case InputKind::learned: return learned(scope, rule, std::move(fields), std::move(length));
    case InputKind::sinusoidal: return sinusoidal(scope, rule, std::move(fields), std::move(length));
    case InputKind::axial: return axial(scope, std::move(fields), std::move(length));
    case InputKind::boxes: return boxes(scope, std::move(fields), std::move(length));
    case InputKind::convolution: return convolution(scope, rule, std::move(fields), std::move(length));
    case InputKind::rows:
    case InputKind::grid:
    case InputKind::patches: return of_others(scope, rule, std::move(fields), std::move(length));
  }
  return {{}, {}, std::move(length)};
}

}  // namespace

InputStage read_input_stage(ConfigScope& scope, Sourced<std::int64_t> trained_length) {
  InputStage stage = read_one(scope, scope.stack().input, 0, std::move(trained_length));
  for (const InputRule& rule : scope.stack().more_input) {
    InputStage next = read_one(scope, rule, stage.schemes.size(), std::move(stage.length));
    std::ranges::move(next.schemes, std::back_inserter(stage.schemes));
    std::ranges::move(next.sources, std::back_inserter(stage.sources));
    stage.length = std::move(next.length);
  }
  return stage;
}

}  // namespace posenc::plan
