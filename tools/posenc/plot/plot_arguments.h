// What each kind of picture is asked for.
//
// A member's initial value is what holds where the option is left out. A scheme is still a word here ("alibi,heads=8",
// scheme_word.h) and a model a path or a name: both are read by the kind's figure_of, in figures/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "line/model_word.h"
#include "posenc/grid_positions.h"

namespace posenc::tool {

// A layer of a model, in the words of inspect and rotate.
// Layers, and the rotations of a layer, are counted
// from 0; what holds where they are left out: inspect/layer_choice.h.
struct ModelWords {
  ModelWord model;
  std::optional<std::string> stack{};
  std::optional<std::int64_t> layer{};
  std::optional<std::int64_t> rotation{};
};

// Rows of what is added to embeddings, by position and channel.
// At most one of scheme, table and model is given.
struct EncodingPlot {
  std::string scheme = "sinusoidal";
  std::optional<std::string> table{};  // FILE or FILE:TENSOR, instead of a scheme
  std::optional<ModelWords> model{};   // whose scheme it is
  std::int64_t start = 0;
  std::int64_t positions = 64;
  std::int64_t channels = 64;
  bool products = false;  // of each row with each
};

// What a scheme of the score stage adds, by query and key.
// `tokens` queries and as many keys. With `curves` one query is drawn by the distance of its keys, less than `tokens`
// either way, and several heads in place of `head`.
struct BiasPlot {
  std::string scheme = "alibi";
  std::optional<ModelWords> model{};  // whose scheme it is
  std::int64_t head = 0;
  std::int64_t tokens = 64;
  bool both_ways = false;  // keys in the future too
  bool curves = false;     // by distance, a curve a head
};

// How far apart the rotation has a query and a key.
// Regions of schemes.h: self_extend, rerope, dual_chunk; none for plain RoPE.
struct DistancePlot {
  std::string scheme = "self_extend";
  std::int64_t tokens = 64;
};

// Weights of one head over a few words, without a scheme and with it.
struct AttentionPlot {
  std::string scheme = "rope";
  std::string words = "the dog saw the man and the man saw the dog";
  bool both_ways = false;  // keys in the future too
};

// The curves that the decay of a rotation is argued with.
// `channels`: of a head, all rotated; the library refuses an odd number. `longest`: the largest distance, in tokens.
struct DecayPlot {
  std::int64_t channels = 128;
  double base = 10000.0;
  std::int64_t longest = 1024;
};

// Coordinates of text, images and videos.
// `items`: in the order of the sequence, sizes in patches (posenc/grid_positions.h).
struct CoordinatesPlot {
  GridRule rule = GridRule::qwen2_vl;
  std::string items = "text=3,image=4x6,text=2";
};

// What queries are multiplied by, by position.
struct QueryScalePlot {
  std::optional<ModelWords> model{};  // whose scale it is; left out: one of each kind
  std::int64_t tokens = 65536;
};

// Whose RoPE is drawn: that of `scheme`, or of `model` where there is one. Lengths are in tokens.
struct RopeWords {
  std::string scheme = "rope";
  std::optional<ModelWords> model{};      // whose rotation it is
  std::optional<std::int64_t> length{};   // of the sequence, for rules that depend on it
  std::optional<std::int64_t> trained{};  // beside a scheme: a model says it itself
};

struct WavelengthsPlot {
  RopeWords rope{};
};

// Frequencies with a rule over those without.
// One curve for each of `rules`, all with one factor (alpha of ntk); original_length, in tokens, is read by yarn and
// llama3. A model has a rule of its own, and none of these three is given beside it.
struct ScalingPlot {
  RopeWords rope{};
  std::vector<std::string> rules{"linear", "ntk", "yarn", "llama3"};  // where there is no model
  double factor = 8.0;
  std::int64_t original_length = 8192;
};

// Pairs of channels in the plane.
// At positions start, start + step, ...; `pairs` of them, spread evenly from the fastest to the slowest.
struct RotationPlot {
  RopeWords rope{};
  std::int64_t pairs = 8;
  std::int64_t positions = 6;
  std::int64_t start = 0;
  std::int64_t step = 1;
};

// Without `out` the text goes to standard output. `force`: replaces a file that is there. `json`: numbers, no picture.
struct PlotArguments {
  std::variant<EncodingPlot, BiasPlot, DistancePlot, AttentionPlot, DecayPlot, CoordinatesPlot, QueryScalePlot,
               WavelengthsPlot, ScalingPlot, RotationPlot>
      plot;
  std::optional<std::string> out{};
  bool force = false;
  bool json = false;
};

}  // namespace posenc::tool
