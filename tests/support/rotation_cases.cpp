// Rotations, regions, rotated values, scales of queries.
#include "support/all_schemes.h"

namespace posenc::test {
namespace {

SchemeCase rotated(std::string name, const Rope& rope) {
  return {.name = std::move(name), .layer = with_rotation(rope), .real = true};
}

SchemeCase in_regions(std::string name, const Regions& regions, std::int64_t period = 1) {
  SchemeCase out{.name = std::move(name), .layer = with_rotation(half_rope()), .period = period};
  out.layer.regions = regions;
  return out;
}

SchemeCase scaled(std::string name, const QueryScale& scale) {
  SchemeCase out{.name = std::move(name), .layer = plain_layer(), .from_zero = true, .period = 0};
  out.layer.query_scale = scale;
  return out;
}

SchemeCase with_values(std::string name, bool inverse_on_output) {
  SchemeCase out = rotated(std::move(name), half_rope());
  out.layer.value_dim = kHeadDim;
  out.layer.value = RotatedValues{.inverse_on_output = inverse_on_output};
  out.period = inverse_on_output ? 1 : 0;  // what is read holds the key's own position
  return out;
}

}  // namespace

std::vector<SchemeCase> cases_of(Case<Rope>) {
  Rope interleaved = half_rope();
  interleaved.pairing = Pairing::interleaved;
  Rope partial = half_rope();
  partial.dim = 4;
  partial.first_channel = 2;
  Rope last_channels = half_rope();
  last_channels.dim = 4;
  last_channels.first_channel = 4;
  Rope chunked = half_rope();
  chunked.axes = chunked_axes({"t", "h", "w"}, {2, 1, 1});
  Rope dealt = half_rope();
  dealt.axes = interleaved_axes({2, 1, 1});
  Rope axial = half_rope();
  axial.axes = axial_axes({"h", "w"}, 4);
  axial.axis_frequencies = AxisFrequencies::per_axis;
  Rope yarn = half_rope();
  yarn.scaling = YarnScaling{.factor = 8.0, .original_max_position_embeddings = 64};
  Rope llama3 = half_rope();
  llama3.scaling = Llama3Scaling{.factor = 4.0, .original_max_position_embeddings = 32};
  Rope dynamic = half_rope();
  dynamic.scaling = DynamicScaling{.factor = 2.0, .max_position_embeddings = 16};
  Rope proportional = half_rope();
  proportional.scaling = ProportionalScaling{.partial_rotary_factor = 0.5};
  Rope clockwise = half_rope();
  clockwise.rotation_direction = RotationDirection::clockwise;

  std::vector<SchemeCase> out{rotated("half", half_rope()),
                              rotated("interleaved", interleaved),
                              rotated("partial", partial),
                              rotated("last channels", last_channels),
                              rotated("M-RoPE chunked", chunked),
                              rotated("M-RoPE interleaved", dealt),
                              rotated("axial", axial),
                              rotated("YaRN with its factor", yarn),
                              rotated("Llama 3", llama3),
                              rotated("dynamic", dynamic),
                              rotated("proportional", proportional),
                              rotated("clockwise", clockwise)};
  SchemeCase offset = rotated("offset", half_rope());
  offset.layer.rotate.front().offset = 3;
  SchemeCase two = rotated("two rotations", last_channels);
  Rope first_channels = half_rope();
  first_channels.dim = 4;
  two.layer.rotate.push_back({.heads = kHeads, .scheme = first_channels, .offset = 1});
  SchemeCase indexer = rotated("an indexer's besides", half_rope());
  indexer.layer.rotate.push_back({.role = RotateRole::indexer, .heads = kHeads, .scheme = interleaved});
  out.insert(out.end(), {offset, two, indexer});
  return out;
}

std::vector<SchemeCase> cases_of(Case<XPos>) {
  Rope interleaved = half_rope();
  interleaved.pairing = Pairing::interleaved;
  std::vector<SchemeCase> out;
  for (const Rope& rope : {half_rope(), interleaved}) {
    SchemeCase& one = out.emplace_back(rotated("xPos", rope));
    one.layer.rotate.front().scheme = XPos{.rope = rope, .scale_base = 512.0};
  }
  return out;
}

std::vector<SchemeCase> cases_of(Case<SelfExtend>) {
  return {in_regions("SelfExtend", SelfExtend{.group = 3, .window = 4}, 3)};
}

std::vector<SchemeCase> cases_of(Case<ReRope>) {
  return {in_regions("ReRoPE", ReRope{.window = 4}), in_regions("leaky ReRoPE", ReRope{.window = 4, .step = 2.5})};
}

std::vector<SchemeCase> cases_of(Case<DualChunk>) {
  return {in_regions("dual chunk", DualChunk{.chunk = 4, .local = 2, .trained = 6}, 4)};
}

std::vector<SchemeCase> cases_of(Case<RotatedValues>) {
  return {with_values("rotated values", false), with_values("rotated values and output", true)};
}

std::vector<SchemeCase> cases_of(Case<Llama4Temperature>) {
  return {scaled("Llama 4's temperature", Llama4Temperature{.attn_scale = 0.5, .floor_scale = 4.0})};
}

std::vector<SchemeCase> cases_of(Case<MinistralTemperature>) {
  return {scaled("Ministral's temperature", MinistralTemperature{.beta = 0.5, .original_max_position_embeddings = 4})};
}

std::vector<SchemeCase> cases_of(Case<LogNScale>) { return {scaled("log n", LogNScale{.seq_length = 4})}; }

std::vector<SchemeCase> cases_of(Case<BeamTemperature>) {
  return {scaled("Beam's temperature", BeamTemperature{.exponent = 0.5, .length = 4.0})};
}

std::vector<SchemeCase> cases_of(Case<InklingTemperature>) {
  return {scaled("Inkling's temperature", InklingTemperature{.alpha = 0.5, .floor = 4.0})};
}

}  // namespace posenc::test
