// The schemes that are measured: each under its name, with numbers as models have them and random learned tables.
//
// entries() asks for entries_of(Kind<Alternative>) of each alternative of InputScheme, Scaling, Regions, ScoreTerm,
// ValueScheme, QueryScale and the rotation: one without entries does not compile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>
#include <utility>
#include <vector>

#include "posenc/attention.h"
#include "posenc/plan.h"
#include "posenc/properties.h"
#include "properties/numbers.h"

namespace posenc::properties {

// The sizes at which a scheme is made: those of docs/properties.md unless a measure asks for others.
struct Size {
  std::int64_t places = kMeasuredPlaces;  // that learned tables must serve
  std::int64_t heads = 2;
  std::int64_t head_dim = 16;
  bool on_square = false;  // tokens have a row and a column, and no order: a rotation gets an axis for each

  std::int64_t channels() const { return heads * head_dim; }
  // Of a square with at least as many cells.
  std::int64_t side() const;
};

// How tokens in their order lie: one coordinate, or row after row in a square.
enum class Layout : std::uint8_t { line, square };

// A layer with one position scheme in it and nothing else, and its tables.
struct Specimen {
  Size size{};
  std::optional<InputScheme> input{};
  ConstTensorView input_table{};  // of a learned one
  LayerPlan layer{};              // without positions beside an input scheme
  LayerWeights weights{};
  Layout layout = Layout::line;
  std::optional<LayerPlan> trained{};  // as it was trained, if the scheme is put in afterwards to extend the length
  std::optional<std::int64_t> end{};   // the first place without an encoding
};

// A scheme's name and description, and how to make it. The tables outlive the specimen that views them (Made).
struct Entry {
  using Make = std::function<Specimen(const Size& size, Tables& tables)>;

  // No aggregate: where the second member throws, GCC 12 destroys the first one of a returned aggregate twice.
  Entry(MeasuredScheme is, Make by) : scheme(std::move(is)), make(std::move(by)) {}

  MeasuredScheme scheme;
  Make make;
};

// Stands for a scheme's type in the choice of an overload of entries_of(); holds nothing.
template <typename Scheme>
struct Kind {};

// Inputs (input_specimens.cpp).
std::vector<Entry> entries_of(Kind<LearnedInput>);
std::vector<Entry> entries_of(Kind<SinusoidalInput>);
std::vector<Entry> entries_of(Kind<IntegerInput>);
std::vector<Entry> entries_of(Kind<BinaryInput>);
// Without mathematics as yet (docs/architecture.md).
inline std::vector<Entry> entries_of(Kind<AxialInput>) { return {}; }
inline std::vector<Entry> entries_of(Kind<TileInput>) { return {}; }
inline std::vector<Entry> entries_of(Kind<ConvolutionInput>) { return {}; }
// Of several coordinates, where properties are of distances along one; what is learned of them has no numbers here.
inline std::vector<Entry> entries_of(Kind<AxisSinesInput>) { return {}; }
inline std::vector<Entry> entries_of(Kind<FourierInput>) { return {}; }
inline std::vector<Entry> entries_of(Kind<PerceptronInput>) { return {}; }

// No scheme in a stage: all stages empty is NoPE, an entry of its own.
inline std::vector<Entry> entries_of(Kind<std::monostate>) { return {}; }
std::vector<Entry> no_positions();

// Rotations, scaling rules, regions (rotation_specimens.cpp).
std::vector<Entry> entries_of(Kind<Rope>);
std::vector<Entry> entries_of(Kind<XPos>);
std::vector<Entry> entries_of(Kind<LinearScaling>);
std::vector<Entry> entries_of(Kind<NtkScaling>);
std::vector<Entry> entries_of(Kind<DynamicScaling>);
std::vector<Entry> entries_of(Kind<QwenNtkScaling>);
std::vector<Entry> entries_of(Kind<YarnScaling>);
std::vector<Entry> entries_of(Kind<LongRopeScaling>);
std::vector<Entry> entries_of(Kind<Llama3Scaling>);
std::vector<Entry> entries_of(Kind<ProportionalScaling>);
std::vector<Entry> entries_of(Kind<FactorListScaling>);
std::vector<Entry> entries_of(Kind<SelfExtend>);
std::vector<Entry> entries_of(Kind<ReRope>);
std::vector<Entry> entries_of(Kind<DualChunk>);

// Scores (distance_specimens.cpp, content_specimens.cpp).
std::vector<Entry> entries_of(Kind<Alibi>);
std::vector<Entry> entries_of(Kind<T5Bias>);
std::vector<Entry> entries_of(Kind<ClippedBias>);
std::vector<Entry> entries_of(Kind<GridBias>);
std::vector<Entry> entries_of(Kind<Kerple>);
std::vector<Entry> entries_of(Kind<Fire>);
std::vector<Entry> entries_of(Kind<Sandwich>);
std::vector<Entry> entries_of(Kind<MlpBias>);
std::vector<Entry> entries_of(Kind<ShawKeys>);
std::vector<Entry> entries_of(Kind<TransformerXl>);
std::vector<Entry> entries_of(Kind<XlNet>);
std::vector<Entry> entries_of(Kind<Deberta>);
std::vector<Entry> entries_of(Kind<DecomposedHw>);
std::vector<Entry> entries_of(Kind<ContextualPosition>);
std::vector<Entry> entries_of(Kind<ForgetGate>);
std::vector<Entry> entries_of(Kind<DistanceLogits>);
std::vector<Entry> entries_of(Kind<Llama4Temperature>);
std::vector<Entry> entries_of(Kind<MinistralTemperature>);
std::vector<Entry> entries_of(Kind<LogNScale>);
std::vector<Entry> entries_of(Kind<BeamTemperature>);
std::vector<Entry> entries_of(Kind<InklingTemperature>);

// Each of the scales is measured alone, in a layer without other positions (distance_specimens.cpp).
//
// Values (content_specimens.cpp).
std::vector<Entry> entries_of(Kind<ShawValues>);
std::vector<Entry> entries_of(Kind<RotatedValues>);

// By stage.
const std::vector<Entry>& entries();
// Throws Error, in the name of the function `where`, for a name that is not among them.
const Entry& entry(std::string_view where, std::string_view name);

// A layer of that size without positions; scores are over sqrt(head_dim).
LayerPlan plain_layer(const Size& size);
// RoPE over the whole head, half pairing, with base 10000; on a square its pairs take row and column in turn.
Rope plain_rope(const Size& size);
// Weights of variance 1 / inputs, so that outputs are about as large as inputs; biases of variance 1.
Linear random_linear(Tables& tables, std::int64_t outputs, std::int64_t inputs);

// A scheme with its tables, which are the same whenever it is made at that size.
class Made {
 public:
  Made(const Entry& entry, const Size& size);
  const Specimen& operator*() const { return specimen_; }
  const Specimen* operator->() const { return &specimen_; }
  std::int64_t parameters() const { return tables_.count(); }

 private:
  Tables tables_;
  Specimen specimen_;
};

}  // namespace posenc::properties
