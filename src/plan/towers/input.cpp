// What is added to a tower's patches or frames: learned tables (by patch, by axis, Mllama's by tile) or sines.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/layers/patch_grid.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

struct Tubes {
  std::int64_t count = 1;
  std::int64_t of_frame = 1;  // rows * columns
  std::string from;
};

// frames / tube * rows * columns. The key gives the frames of a tube, which is then a patch wide, or all three sides.
Tubes read_tubes(ConfigScope& scope) {
  ConfigReader& reader = scope.reader();
  const Sourced<std::int64_t> frames = scope.required_integer(keys::kClipFrames, kGridSides);
  const auto place = scope.find(keys::kTube);
  if (!place) {
    scope.require(keys::kTube);
    return {};
  }
  const auto grid_of = [&](std::int64_t depth, const PatchGrid& grid) -> Tubes {
    if (reader.failed()) return {};
    const std::int64_t deep = frames.value / depth;
    if (deep >= 1 && deep <= kMaxPosition / (grid.height * grid.width)) {
      return {deep * grid.height * grid.width, grid.height * grid.width, frames.from};
    }
    scope.fail(keys::kClipFrames, ErrorKind::out_of_range, "a clip of at least one tube, and no endless one",
               formatted("a tube is {} frames", depth));
    return {};
  };
  if (place->value.kind() != io::JsonKind::array) {
    const std::int64_t depth = reader.integer(*place, kGridSides).value_or(1);
    return grid_of(depth, read_patch_grid(scope));
  }
  const std::vector<io::JsonValue> sides = place->value.items();
  if (sides.size() != 3) {
    reader.fail(*place, ErrorKind::length_mismatch, "a number, or frames, a height and a width");
    return {};
  }
  std::int64_t side[3] = {1, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    const Place at{sides[i], place->in_file ? sides[i].pointer() : place->from, place->in_file};
    side[i] = reader.integer(at, kGridSides).value_or(1);
  }
  const Sides image = read_sides(scope, keys::kImageSize);
  return grid_of(
      side[0],
      {std::max<std::int64_t>(image.height / side[1], 1), std::max<std::int64_t>(image.width / side[2], 1), {}});
}

class InputReader {
 public:
  InputReader(ConfigScope& scope, TowerInputs& out) : scope_(scope), out_(out) {}

  void read(const TowerInput& row) {
    if (row.needs != nullptr) {
      const Setting<bool> present = scope_.flag(*row.needs);
      if (present.value && !*present.value) return;
    }
    switch (row.kind) {
      case TowerInput::Kind::patches: return patches(row.extra + more_rows(row), read_patch_grid(scope_, *row.image));
      case TowerInput::Kind::trained: return patches(row.extra, read_patch_grid(scope_, keys::kTrainedImage));
      case TowerInput::Kind::strided:
        return patches(row.extra, read_patch_grid(scope_, keys::kImageSize, keys::kPatchStride));
      case TowerInput::Kind::tile: return tile(*row.rows);
      case TowerInput::Kind::sides: return sides(*row.rows);
      case TowerInput::Kind::tubes: return tubes(row.extra);
      case TowerInput::Kind::tube_faces: return tube_faces();
      case TowerInput::Kind::rows: return rows(*row.rows);
      case TowerInput::Kind::square: return square(*row.rows);
      case TowerInput::Kind::grid: return grid();
      case TowerInput::Kind::axes: return axes(*row.rows);
      case TowerInput::Kind::tiles: return tiles(row.extra);
      case TowerInput::Kind::tile_rows: return tile_rows();
      case TowerInput::Kind::frames: return frames();
      case TowerInput::Kind::sines: return sines(*row.rows);
      case TowerInput::Kind::box: return box(*row.rows);
      case TowerInput::Kind::keypoint:
        return add(PerceptronInput{.coordinates = 2, .of = PlaceOf::points}, {{"coordinates", from_class()}});
      case TowerInput::Kind::tube_sines: return tube_sines();
      case TowerInput::Kind::unknown: return add(LearnedInput{}, {});
    }
  }

 private:
  void add(InputScheme scheme, std::vector<FieldSource> sources) {
    for (FieldSource& source : sources) {
      out_.sources.push_back({formatted("input/{}/{}", out_.input.size(), source.field), source.from});
    }
    out_.input.push_back(std::move(scheme));
  }

  std::int64_t more_rows(const TowerInput& row) {
    return row.extra_rows == nullptr ? 0 : scope_.required_integer(*row.extra_rows, {0, kMaxSide}).value;
  }

  void patches(std::int64_t extra, const PatchGrid& grid) {
    add(LearnedInput{.positions = grid.height * grid.width + extra}, {{"positions", grid.from}});
  }

  void tubes(std::int64_t extra) {
    const Tubes all = read_tubes(scope_);
    add(LearnedInput{.positions = all.count + extra}, {{"positions", all.from}});
  }

  void tube_faces() {
    const Tubes all = read_tubes(scope_);
    add(LearnedInput{.positions = all.of_frame}, {{"positions", from_of(scope_, keys::kImageSize)}});
  }

  void square(const Key& key) {
    const Sourced<std::int64_t> side = scope_.required_integer(key, kGridSides);
    add(LearnedInput{.positions = side.value * side.value}, {{"positions", side.from}});
  }

  // In pairs of sine and cosine, frequencies 10000^(-2i/d), over the tubes in the order of the sequence.
  void tube_sines() {
    const Tubes all = read_tubes(scope_);
    add(SinusoidalInput{.convention = SinusoidConvention::paper, .positions = all.count}, {{"positions", all.from}});
  }

  void rows(const Key& key) {
    const Sourced<std::int64_t> count = scope_.required_integer(key, {1, kMaxPosition});
    add(LearnedInput{.positions = count.value}, {{"positions", count.from}});
  }

  void tile(const Key& key) {
    const Sourced<std::vector<std::int64_t>> each = read_each(scope_, key, 0, kGridSides);
    const std::int64_t side = each.value.empty() ? 1 : each.value.front();
    add(LearnedInput{.positions = side * side}, {{"positions", each.from}});
  }

  void sides(const Key& key) {
    const Sides both = read_sides(scope_, key);
    add(LearnedInput{.positions = both.height * both.width}, {{"positions", from_of(scope_, key)}});
  }

  void box(const Key& key) {
    const Sourced<std::int64_t> numbers = scope_.required_integer(key, {1, kMaxHiddenSize});
    add(PerceptronInput{.coordinates = numbers.value}, {{"coordinates", numbers.from}});
  }

  std::string from_class() const { return family_default(scope_.family()); }

  void grid() {
    const Sourced<std::int64_t> height = scope_.required_integer(keys::kGridHeight, kGridSides);
    const Sourced<std::int64_t> width = scope_.required_integer(keys::kGridWidth, kGridSides);
    add(LearnedInput{.positions = height.value * width.value}, {{"positions", height.from}});
  }

  void axes(const Key& key) {
    const Sourced<std::int64_t> count = scope_.required_integer(key, {1, kMaxPosition});
    add(AxialInput{.shape = {count.value, count.value}}, {{"shape", count.from}});
  }

  struct TileRows {
    std::int64_t rows = 1;
    Sourced<std::int64_t> tiles;
    std::string from;
  };

  TileRows read_tile_rows() {
    TileRows out{.tiles = scope_.required_integer(keys::kMaxTiles, {1, kMaxSide}),
                 .from = from_of(scope_, keys::kAspectRatios)};
    const auto place = scope_.find(keys::kAspectRatios);
    if (!place) return out;
    const auto ratios = scope_.reader().list(*place);
    if (ratios) out.rows = static_cast<std::int64_t>(ratios->size()) + 1;
    return out;
  }

  void tiles(std::int64_t extra) {
    const TileRows table = read_tile_rows();
    const PatchGrid grid = read_patch_grid(scope_);
    add(TileInput{.rows = table.rows, .tiles = table.tiles.value, .positions = grid.height * grid.width + extra},
        {{"rows", table.from}, {"tiles", table.tiles.from}, {"positions", grid.from}});
  }

  void tile_rows() {
    const TileRows table = read_tile_rows();
    add(TileInput{.rows = table.rows, .tiles = table.tiles.value, .positions = 0},
        {{"rows", table.from}, {"tiles", table.tiles.from}});
  }

  // sin | cos side by side, frequencies 10000^(-2i/d); a single frame gets nothing.
  void frames() {
    const Sourced<std::int64_t> count = scope_.required_integer(keys::kGridTime, kGridSides);
    add(SinusoidalInput{.convention = SinusoidConvention::marian, .positions = count.value, .axis = "t"},
        {{"positions", count.from}});
  }

  void sines(const Key& key) {
    const Sourced<std::int64_t> count = scope_.required_integer(key, {1, kMaxPosition});
    add(SinusoidalInput{.convention = SinusoidConvention::whisper, .positions = count.value},
        {{"positions", count.from}});
  }

  ConfigScope& scope_;
  TowerInputs& out_;
};

}  // namespace

TowerInputs read_tower_input(ConfigScope& scope, const Tower& tower) {
  TowerInputs out;
  InputReader reader(scope, out);
  for (const TowerInput& row : tower.input) reader.read(row);
  return out;
}

}  // namespace posenc::plan
