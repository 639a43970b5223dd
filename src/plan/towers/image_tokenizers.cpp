// Image tokenizers (VQGAN, arXiv 2012.09841): levels of convolutions, each half as fine as the one before. Blocks of
// some levels, and one in the middle, attend over the level's whole grid, and no position is told.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/towers/towers.h"

namespace posenc::plan {

// Which levels attend.
enum class Levels : std::uint8_t {
  last,           // Janus
  by_number,      // Emu 3: kAttendingLevels
  by_their_side,  // Chameleon: kAttendingLevels, of kImageSide halved from level to level
};

struct ImageTokenizer {
  Family family;
  Levels levels;
  bool has_decoder = true;
  const Key* heads = nullptr;  // null: one
  const Key* width = nullptr;  // null: the level's
};

namespace {

constexpr Bounds kCounts{1, std::int64_t{1} << 20};

constexpr Family tokenizer(Names types) {
  return {.name = types.front(), .model_types = types, .class_stems = {}, .pairing = Pairing::half};
}

// Facts: the transformers 5.23.0 class of the model type.
constexpr ImageTokenizer kTokenizers[] = {
    {.family = tokenizer("chameleon_vqgan"), .levels = Levels::by_their_side, .has_decoder = false},
    {.family = tokenizer("janus_vqgan"), .levels = Levels::last},
    {.family = tokenizer("emu3_vqgan"), .levels = Levels::by_number, .heads = &keys::kHeads, .width = &keys::kHidden},
};

std::vector<bool> read_levels(ConfigScope& scope, Levels rule, std::size_t count) {
  std::vector<bool> attends(count, false);
  if (rule == Levels::last) attends.back() = true;
  if (rule == Levels::last || !scope.peek(keys::kAttendingLevels)) return attends;
  const auto listed = read_each(scope, keys::kAttendingLevels, 0, {0, kCounts.high});
  std::int64_t side = 0;
  if (rule == Levels::by_their_side) side = scope.required_integer(keys::kImageSide, kCounts).value;
  for (std::size_t i = 0; i < count; ++i, side /= 2) {
    const std::int64_t level = rule == Levels::by_number ? static_cast<std::int64_t>(i) : side;
    attends[i] = std::ranges::find(listed.value, level) != listed.value.end();
  }
  return attends;
}

class TokenizerReader {
 public:
  TokenizerReader(ConfigScope& scope, const ImageTokenizer& row, std::int64_t room)
      : scope_(scope), row_(row), room_(room) {}

  std::vector<StackFacts> read() {
    base_ = scope_.required_integer(keys::kBaseChannels, kCounts);
    channels_ = read_each(scope_, keys::kLevelChannels, 0, kCounts).value;
    blocks_ = scope_.required_integer(keys::kLevelBlocks, {0, room_});
    if (channels_.empty()) scope_.fail(keys::kLevelChannels, ErrorKind::out_of_range, "a number for each level");
    if (row_.heads != nullptr) heads_ = scope_.required_size(*row_.heads, {1, kMaxHeads});
    if (row_.width != nullptr) width_ = scope_.required_size(*row_.width, {1, kMaxHiddenSize});
    if (scope_.reader().failed() || !is_vanilla()) return {};
    const std::vector<bool> attends = read_levels(scope_, row_.levels, channels_.size());

    std::vector<StackFacts> stacks(1);
    stacks[0].name = "image_encoder";
    for (std::size_t i = 0; i < attends.size(); ++i) add(stacks[0], attends[i] ? blocks_.value : 0, i);
    add(stacks[0], 1, attends.size() - 1);
    if (row_.has_decoder) {
      stacks.emplace_back().name = "image_decoder";
      add(stacks[1], 1, attends.size() - 1);
      for (std::size_t i = attends.size(); i-- > 0;) add(stacks[1], attends[i] ? blocks_.value + 1 : 0, i);
    }
    for (StackFacts& stack : stacks) stack.count_from = blocks_.from;
    if (scope_.reader().failed()) return {};
    return stacks;
  }

 private:
  bool is_vanilla() {
    const auto place = scope_.find(keys::kTokenizerAttention);
    if (!place || scope_.reader().string(*place).value_or("vanilla") == "vanilla") return true;
    scope_.reader().undecided(formatted("{} is no word that is known.", place->from), {place->from});
    return false;
  }

  void add(StackFacts& stack, std::int64_t layers, std::size_t level) {
    const std::int64_t width = row_.width != nullptr ? width_.value : base_.value * channels_[level];
    const std::int64_t channels = width / heads_.value;
    const Key& blamed = row_.width != nullptr ? *row_.width : keys::kBaseChannels;
    room_ -= layers;
    if (room_ < 0) {
      return scope_.fail(keys::kLevelBlocks, ErrorKind::out_of_range, formatted("at most {} layers", kMaxLayers));
    }
    if (layers > 0 && channels > kMaxHeadDim) {
      return scope_.fail(blamed, ErrorKind::out_of_range, formatted("at most {} channels a head", kMaxHeadDim));
    }
    if (width % heads_.value != 0) {
      return scope_.fail(blamed, ErrorKind::not_divisible, formatted("a multiple of the {} heads", heads_.value));
    }
    const std::string own = family_default(row_.family);
    LayerFacts layer(LayerKind::attention);
    layer.set(facts::kHeads, heads_.value, heads_.from.empty() ? own : heads_.from);
    layer.set(facts::kKvHeads, heads_.value, "default: as many as heads");
    layer.set(facts::kHeadDim, channels, row_.width != nullptr ? width_.from : base_.from);
    layer.set(facts::kValueDim, channels, row_.width != nullptr ? width_.from : base_.from);
    layer.set(facts::kSoftmaxScale, 1 / std::sqrt(static_cast<double>(channels)), "default: 1 / sqrt(head_dim)");
    layer.set(facts::kQkNorm, {}, own);
    layer.set(Mask{.kind = MaskKind::bidirectional}, {{"mask/kind", own}});
    for (std::int64_t i = 0; i < layers; ++i) {
      stack.layers.add(layer, static_cast<std::int64_t>(stack.layers.layers().size()));
    }
  }

  ConfigScope& scope_;
  const ImageTokenizer& row_;
  std::int64_t room_;
  Sourced<std::int64_t> base_;
  std::vector<std::int64_t> channels_;
  Sourced<std::int64_t> blocks_;
  Sourced<std::int64_t> heads_{1, {}};
  Sourced<std::int64_t> width_;
};

}  // namespace

const ImageTokenizer* find_image_tokenizer(std::string_view model_type) noexcept {
  const auto* const row = std::ranges::find_if(
      kTokenizers, [&](const ImageTokenizer& one) { return one.family.model_types.contains(model_type); });
  return row == std::ranges::end(kTokenizers) ? nullptr : row;
}

std::vector<StackFacts> read_image_tokenizer(ConfigReader& reader, const io::JsonValue& object,
                                             const ImageTokenizer& row, std::int64_t room) {
  ConfigScope scope(reader, object, row.family, row.family.name);
  return TokenizerReader(scope, row, room).read();
}

}  // namespace posenc::plan
