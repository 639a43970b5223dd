// The words of enumerators: Python says "half" where C++ says Pairing::half. They are the names that a plan's JSON and
// the command line use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "posenc/attend.h"
#include "posenc/cache/reuse.h"
#include "posenc/compare.h"
#include "posenc/convert.h"
#include "posenc/diagnose.h"
#include "posenc/diagnose_attention.h"
#include "posenc/emit.h"
#include "posenc/feature_map.h"
#include "posenc/grid_positions.h"
#include "posenc/info.h"
#include "posenc/input.h"
#include "posenc/override_plan.h"
#include "posenc/plan.h"
#include "posenc/reference_attend.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/tensor_file.h"
#include "posenc/vectors.h"

namespace posenc::python {

// What the library itself has no name for.
constexpr std::string_view name(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::exact: return "exact";
    case Arithmetic::float32: return "float32";
  }
  return {};
}

constexpr std::string_view name(Angles angles) {
  switch (angles) {
    case Angles::exact: return "exact";
    case Angles::float32: return "float32";
    case Angles::bfloat16: return "bfloat16";
  }
  return {};
}

constexpr std::string_view name(Direction direction) {
  switch (direction) {
    case Direction::forward: return "forward";
    case Direction::inverse: return "inverse";
    case Direction::transpose: return "transpose";
  }
  return {};
}

constexpr std::string_view name(reference::ScoreStage stage) {
  switch (stage) {
    case reference::ScoreStage::content: return "content";
    case reference::ScoreStage::biased: return "biased";
    case reference::ScoreStage::capped: return "capped";
    case reference::ScoreStage::weights: return "weights";
  }
  return {};
}

constexpr std::string_view name(FeatureMap map) {
  switch (map) {
    case FeatureMap::elu_plus_one: return "elu_plus_one";
    case FeatureMap::identity: return "identity";
    case FeatureMap::relu: return "relu";
  }
  return {};
}

constexpr std::string_view name(GridRule rule) {
  switch (rule) {
    case GridRule::qwen2_vl: return "qwen2_vl";
    case GridRule::qwen2_5_vl: return "qwen2_5_vl";
    case GridRule::qwen3_vl: return "qwen3_vl";
    case GridRule::glm4v: return "glm4v";
  }
  return {};
}

constexpr std::string_view name(Bicubic kernel) {
  switch (kernel) {
    case Bicubic::plain: return "plain";
    case Bicubic::antialias: return "antialias";
  }
  return {};
}

constexpr std::string_view name(DataAccess access) {
  switch (access) {
    case DataAccess::read: return "read";
    case DataAccess::map: return "map";
  }
  return {};
}

// Enumerators count from 0 up to this one.
// C++ does not tell how many enumerators there are. A new last one must be written here, or Python does not take it.
template <typename E>
struct Last;
template <auto kLast>
struct LastIs {
  static constexpr std::size_t kCount = static_cast<std::size_t>(kLast) + 1;
};
// clang-format off
template <> struct Last<DType> : LastIs<DType::f64> {};
template <> struct Last<VectorFormat> : LastIs<VectorFormat::python> {};
template <> struct Last<VectorTest> : LastIs<VectorTest::cargo> {};
template <> struct Last<Pairing> : LastIs<Pairing::interleaved> {};
template <> struct Last<AxisFrequencies> : LastIs<AxisFrequencies::strided> {};
template <> struct Last<RotationDirection> : LastIs<RotationDirection::clockwise> {};
template <> struct Last<SinusoidConvention> : LastIs<SinusoidConvention::xlnet> {};
template <> struct Last<LayerKind> : LastIs<LayerKind::none> {};
template <> struct Last<RotateRole> : LastIs<RotateRole::before_projection> {};
template <> struct Last<MaskKind> : LastIs<MaskKind::sparse> {};
template <> struct Last<SoftCap::Order> : LastIs<SoftCap::Order::before_bias> {};
template <> struct Last<QkNorm::Kind> : LastIs<QkNorm::Kind::layer> {};
template <> struct Last<QkNorm::Order> : LastIs<QkNorm::Order::after> {};
template <> struct Last<QkNorm::Over> : LastIs<QkNorm::Over::all_heads> {};
template <> struct Last<QkNorm::Of> : LastIs<QkNorm::Of::keys> {};
template <> struct Last<FedBy> : LastIs<FedBy::mixed_tokens> {};
template <> struct Last<AddedTo> : LastIs<AddedTo::hidden_states> {};
template <> struct Last<AddedHow> : LastIs<AddedHow::beside> {};
template <> struct Last<PlaceOf> : LastIs<PlaceOf::text> {};
template <> struct Last<InputCombine> : LastIs<InputCombine::multiply> {};
template <> struct Last<AxialCombine> : LastIs<AxialCombine::concatenate> {};
template <> struct Last<AlibiForm> : LastIs<AlibiForm::column_bfloat16> {};
template <> struct Last<Kerple::Form> : LastIs<Kerple::Form::power> {};
template <> struct Last<SourceKind> : LastIs<SourceKind::preset> {};
template <> struct Last<Verdict> : LastIs<Verdict::differ> {};
template <> struct Last<DifferenceKind> : LastIs<DifferenceKind::note> {};
template <> struct Last<PatchForm> : LastIs<PatchForm::vllm> {};
template <> struct Last<KeyUse> : LastIs<KeyUse::not_at_all> {};
template <> struct Last<KeyReason> : LastIs<KeyReason::norm_after> {};
template <> struct Last<CacheOperation> : LastIs<CacheOperation::share> {};
template <> struct Last<StoredKeys> : LastIs<StoredKeys::rotated> {};
template <> struct Last<Reuse> : LastIs<Reuse::no> {};
template <> struct Last<ReuseFact> : LastIs<ReuseFact::both_ways> {};
template <> struct Last<ConvertedPart> : LastIs<ConvertedPart::key_norm> {};
template <> struct Last<PortVerdict> : LastIs<PortVerdict::recovered> {};
template <> struct Last<PortFact> : LastIs<PortFact::value> {};
template <> struct Last<EmitTarget> : LastIs<EmitTarget::metal> {};
template <> struct Last<AttentionStage> : LastIs<AttentionStage::out> {};
template <> struct Last<Arithmetic> : LastIs<Arithmetic::float32> {};
template <> struct Last<Angles> : LastIs<Angles::bfloat16> {};
template <> struct Last<Direction> : LastIs<Direction::transpose> {};
template <> struct Last<reference::ScoreStage> : LastIs<reference::ScoreStage::weights> {};
template <> struct Last<Isa> : LastIs<Isa::amx> {};
template <> struct Last<Products> : LastIs<Products::bf16> {};
template <> struct Last<CacheFormat> : LastIs<CacheFormat::int4_by_channel> {};
template <> struct Last<FeatureMap> : LastIs<FeatureMap::relu> {};
template <> struct Last<GridRule> : LastIs<GridRule::glm4v> {};
template <> struct Last<Bicubic> : LastIs<Bicubic::antialias> {};
template <> struct Last<DataAccess> : LastIs<DataAccess::map> {};
// clang-format on

// "'half', 'interleaved'": for signatures (typing.Literal) and for errors, in the order of the enumerators.
template <typename E>
std::string quoted_words() {
  std::string words;
  for (std::size_t i = 0; i < Last<E>::kCount; ++i) {
    words.append(words.empty() ? "'" : ", '").append(name(static_cast<E>(i))).append("'");
  }
  return words;
}

// Words as signatures have them. What makes the stubs (nanobind 3.1) takes a name, a dot and a name for a module's,
// within quotes too: 'config.json' would have it import config.
inline std::string in_signature(std::string words) {
  for (std::size_t dot = words.find('.'); dot != std::string::npos; dot = words.find('.', dot)) {
    words.replace(dot, 1, "\\x2e");
  }
  return words;
}

}  // namespace posenc::python
