// VibeVoice's tokenizers, convolutions throughout: blocks of all stages are counted as layers, none of which attends.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

constexpr Family convolution(Names types) {
  return {.name = types.front(), .model_types = types, .class_stems = {}, .pairing = Pairing::half};
}

// Facts: the published VibeVoice code, whose files carry encoder_depths; VibeVoiceAcousticTokenizerConfig says depths.
constexpr Convolutions kRows[] = {
    {convolution("vibevoice_acoustic_tokenizer vibepod_acoustic_tokenizer"), "acoustic_encoder", "acoustic_decoder"},
    {convolution("vibevoice_acoustic_tokenizer_encoder"), "acoustic_encoder", {}},
    {convolution("vibevoice_semantic_tokenizer_encoder"), "semantic_encoder", {}},
    {convolution("vibevoice_semantic_tokenizer vibepod_semantic_tokenizer"), "semantic_encoder", {}},
    {convolution("swiftformer"), "vision", {}, LinearBlocks::last_of_stage},
    {convolution("mobilevitv2"), "vision", {}, LinearBlocks::all, &keys::kLinearBlocks}};

std::optional<std::int64_t> sum_of_list(ConfigReader& reader, const Place& place, std::int64_t room) {
  std::int64_t sum = 0;
  const auto list = reader.list(place);
  if (!list) return {};
  for (const io::JsonValue& entry : *list) {
    const Place at{entry, place.in_file ? entry.pointer() : place.from, place.in_file};
    sum += reader.integer(at, {0, room - sum}).value_or(0);
    if (reader.failed()) return {};
  }
  return sum;
}

// "3-3-8"
std::optional<std::int64_t> sum_of_text(ConfigReader& reader, const Place& place, std::int64_t room) {
  const std::string_view text = reader.string(place).value_or(std::string_view{});
  const char* const end = text.data() + text.size();
  std::int64_t sum = 0;
  for (const char* at = text.data();; ++at) {
    std::int64_t blocks = 0;
    const auto [stop, error] = std::from_chars(at, end, blocks);
    if (error != std::errc{} || blocks < 0 || blocks > room - sum || (stop != end && *stop != '-')) {
      reader.fail(place, ErrorKind::out_of_range,
                  formatted("blocks of each stage, as in 3-3-8, at most {} in all", room));
      return {};
    }
    sum += blocks;
    if (stop == end) return sum;
    at = stop;
  }
}

// Blocks of all stages; nothing where the key is absent or null.
Setting<std::int64_t> read_blocks(ConfigScope& scope, const Key& key, std::int64_t room) {
  const auto place = scope.find(key);
  if (!place) return {};
  const bool is_text = place->value.kind() == io::JsonKind::string;
  ConfigReader& reader = scope.reader();
  return {is_text ? sum_of_text(reader, *place, room) : sum_of_list(reader, *place, room), place->from};
}

StackFacts stack_of(std::string_view name, std::int64_t blocks, std::string from) {
  StackFacts stack{.name = std::string(name), .count_from = std::move(from)};
  for (std::int64_t i = 0; i < blocks; ++i) stack.layers.add(LayerFacts(LayerKind::convolution), i);
  return stack;
}

// SwiftFormer's additive attention, MobileViT v2's separable one: no query meets a key.
StackFacts linear_stack(ConfigScope& scope, const Convolutions& row, std::int64_t room) {
  const auto stages = read_each(scope, *row.blocks, 0, {0, room});
  StackFacts stack{.name = std::string(row.encoder), .count_from = stages.from};
  std::int64_t block = 0;
  for (const std::int64_t blocks : stages.value) {
    if (block + blocks > room) {
      scope.fail(*row.blocks, ErrorKind::out_of_range, formatted("at most {} blocks in all", room));
      break;
    }
    for (std::int64_t i = 0; i < blocks; ++i) {
      const bool is_linear = row.linear == LinearBlocks::all || i + 1 == blocks;
      stack.layers.add(LayerFacts(is_linear ? LayerKind::linear_attention : LayerKind::convolution), block++);
    }
  }
  return stack;
}

}  // namespace

const Convolutions* find_convolutions(std::string_view model_type) noexcept {
  const auto row = std::ranges::find_if(kRows, [&](const Convolutions& one) {
    return std::ranges::find(one.family.model_types, model_type) != one.family.model_types.end();
  });
  return row == std::ranges::end(kRows) ? nullptr : row;
}

std::vector<StackFacts> read_convolution_stacks(ConfigScope& scope, const Convolutions& row, std::int64_t room) {
  if (row.linear != LinearBlocks::none) return {linear_stack(scope, row, room)};
  const Setting<std::int64_t> encoder = read_blocks(scope, keys::kDepths, room);
  if (!encoder.value) {
    if (!scope.reader().failed()) scope.require(keys::kDepths);
    return {};
  }
  std::vector<StackFacts> stacks{stack_of(row.encoder, *encoder.value, encoder.from)};
  if (row.decoder.empty()) return stacks;
  const std::int64_t left = std::max<std::int64_t>(room - *encoder.value, 1);
  const Sourced<std::int64_t> decoder =
      given_or(read_blocks(scope, keys::kDecoderDepths, left), {*encoder.value, "default: the encoder's, reversed"});
  stacks.push_back(stack_of(row.decoder, decoder.value, decoder.from));
  return stacks;
}

}  // namespace posenc::plan
