// What each kind of picture is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "posenc/grid_positions.h"

namespace posenc::tool {

// A layer of a model, in the words of inspect and rotate.
struct ModelWords {
  std::string model;
  std::optional<std::string> stack{};
  std::optional<std::int64_t> layer{};
  std::optional<std::int64_t> rotation{};
};

// Rows of what is added to embeddings, by position and channel.
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
struct BiasPlot {
  std::string scheme = "alibi";
  std::optional<ModelWords> model{};  // whose scheme it is
  std::int64_t head = 0;
  std::int64_t tokens = 64;
  bool both_ways = false;  // keys in the future too
  bool curves = false;     // by distance, a curve a head
};

// How far apart the rotation has a query and a key.
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
struct DecayPlot {
  std::int64_t channels = 128;
  double base = 10000.0;
  std::int64_t longest = 1024;
};

// Coordinates of text, images and videos.
struct CoordinatesPlot {
  GridRule rule = GridRule::qwen2_vl;
  std::string items = "text=3,image=4x6,text=2";
};

// What queries are multiplied by, by position.
struct QueryScalePlot {
  std::optional<ModelWords> model{};  // whose scale it is; left out: one of each kind
  std::int64_t tokens = 65536;
};

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
struct ScalingPlot {
  RopeWords rope{};
  std::vector<std::string> rules{"linear", "ntk", "yarn", "llama3"};  // where there is no model
  double factor = 8.0;
  std::int64_t original_length = 8192;
};

// Pairs of channels in the plane.
struct RotationPlot {
  RopeWords rope{};
  std::int64_t pairs = 8;
  std::int64_t positions = 6;
  std::int64_t start = 0;
  std::int64_t step = 1;
};

struct PlotArguments {
  std::variant<EncodingPlot, BiasPlot, DistancePlot, AttentionPlot, DecayPlot, CoordinatesPlot, QueryScalePlot,
               WavelengthsPlot, ScalingPlot, RotationPlot>
      plot;
  std::optional<std::string> out{};
  bool force = false;
  bool json = false;
};

}  // namespace posenc::tool
