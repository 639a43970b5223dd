// Queries scaled by position: attn_temperature_tuning (Llama 4), llama_4_scaling* (Mistral), use_logn_attn (Qwen 1),
// log_scaling_* (Inkling).
#include "plan/rope/rope.h"

namespace posenc::plan {
namespace {

// Old Llama 4 files write a number for true.
bool is_on(ConfigScope& scope, const Place& place) {
  if (place.value.kind() == io::JsonKind::number) return scope.reader().number(place).value_or(0) != 0;
  return scope.reader().boolean(place).value_or(false);
}

Sourced<QueryScale> llama4_scale(ConfigScope& scope) {
  const auto on = scope.find(keys::kTemperature);
  if (!on) return {{}, family_default(scope.family())};
  if (!is_on(scope, *on)) return {{}, on->from};
  const Sourced<double> scale = scope.required_number(keys::kTemperatureScale);
  const Sourced<double> floor = scope.required_positive(keys::kTemperatureFloor);
  return {Llama4Temperature{.attn_scale = scale.value, .floor_scale = floor.value}, on->from};
}

// Whether the class moves an original length that stands beside the rope dictionary into it, and where none stands the
// trained length: for these rules alone (standardize_rope_params).
bool takes_length_in(RopeKeys& keys) {
  auto place = keys.peek("rope_type");
  if (!place) place = keys.peek("type");
  const std::string_view rule = place && place->value.kind() == io::JsonKind::string ? place->value.text() : "";
  return rule == "yarn" || rule == "longrope" || rule == "llama3";
}

// Both numbers stand in the rope dictionary when Ministral3Attention reads them.
Sourced<QueryScale> ministral_scale(RopeDicts& dicts, const Sourced<std::int64_t>& trained_length) {
  RopeKeys keys(dicts, LayerTraits{}, trained_length, 1);
  const auto beta = keys.find(keys::kBeta.name());
  if (!beta) return {{}, family_default(dicts.scope().family())};
  const double value = keys.reader().number(*beta).value_or(0);
  const bool takes_in = takes_length_in(keys);
  const auto length = takes_in ? keys.find_original({}) : keys.find(keys::kOriginalLength.name());
  if (!length && takes_in && trained_length.value > 0) {
    return {MinistralTemperature{.beta = value, .original_max_position_embeddings = trained_length.value}, beta->from};
  }
  if (!length) {
    keys.fail_missing(keys::kOriginalLength.name());
    return {};
  }
  const std::int64_t original = keys.reader().integer(*length, {1, kMaxPosition}).value_or(1);
  return {MinistralTemperature{.beta = value, .original_max_position_embeddings = original}, beta->from};
}

Sourced<QueryScale> mistral_scale(ConfigScope& scope) {
  ConfigReader& reader = scope.reader();
  const auto object = scope.find(keys::kLlama4Scaling);
  if (!object) return {{}, family_default(scope.family())};
  if (object->value.kind() != io::JsonKind::object) {
    reader.fail(*object, ErrorKind::type, "an object");
    return {};
  }
  reader.enter(object->value);
  const auto beta = reader.look(object->value, "beta");
  const auto length = reader.look(object->value, keys::kOriginalLength.name());
  if (!beta || !length) {
    reader.fail(*object, ErrorKind::missing_key, "beta and original_max_position_embeddings");
    return {};
  }
  reader.mark_read(*beta);
  reader.mark_read(*length);
  return {
      MinistralTemperature{.beta = reader.number(*beta).value_or(0),
                           .original_max_position_embeddings = reader.integer(*length, {1, kMaxPosition}).value_or(1)},
      beta->from};
}

Sourced<QueryScale> logn_scale(ConfigScope& scope, const Sourced<std::int64_t>& trained_length) {
  const Setting<bool> on = scope.flag(keys::kLogn);
  if (!on.value.value_or(false)) return {{}, on.from};
  if (trained_length.value < 2) {
    scope.fail(keys::kLength, ErrorKind::out_of_range, "at least 2, whose logarithm is not 0");
  }
  return {LogNScale{.seq_length = trained_length.value}, on.from};
}

Sourced<QueryScale> inkling_scale(ConfigScope& scope) {
  const auto floor = scope.find(keys::kScaleFloor);
  if (!floor) return {{}, family_default(scope.family())};
  if (floor->value.is_null()) return {{}, floor->from};
  const Sourced<double> tokens = scope.required_positive(keys::kScaleFloor);
  const Sourced<double> alpha = scope.required_number(keys::kScaleAlpha);
  return {InklingTemperature{.alpha = alpha.value, .floor = tokens.value}, floor->from};
}

}  // namespace

Sourced<QueryScale> read_query_scale(RopeDicts& dicts, const Sourced<std::int64_t>& trained_length) {
  switch (dicts.scope().family().query_scaling) {
    case QueryScaling::none: break;
    case QueryScaling::nope_layers: return llama4_scale(dicts.scope());
    case QueryScaling::beta: return ministral_scale(dicts, trained_length);
    case QueryScaling::beta_object: return mistral_scale(dicts.scope());
    case QueryScaling::logn: return logn_scale(dicts.scope(), trained_length);
    case QueryScaling::beam: return {BeamTemperature{}, family_default(dicts.scope().family())};
    case QueryScaling::full_layers: return inkling_scale(dicts.scope());
  }
  return {};
}

}  // namespace posenc::plan
