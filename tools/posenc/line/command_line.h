// The command line: what was asked for, or what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plot/plot_arguments.h"
#include "posenc/attend.h"
#include "posenc/info.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"

namespace posenc::tool {

struct InspectArguments {
  std::string model;
  std::optional<std::int64_t> layer;
  std::optional<std::string> stack;
  std::optional<std::int64_t> length;
  bool json = false;
  bool strict = false;
};
struct CompareArguments {
  std::string a;
  std::string b;
  std::optional<std::int64_t> length;
  std::optional<double> tolerance;
  bool json = false;
};
// The order of a tensor's axes: t tokens, h heads, d channels, b sequences.
enum class TensorLayout : std::uint8_t { thd, htd, bhtd, bthd };
// What rotate and attend have in common: a layer of a model takes tensors of files.
struct LayerJob {
  std::string model;
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> length;
  std::string out;
  std::optional<TensorLayout> layout;
  std::optional<std::int64_t> threads;  // left out: default_threads()
  Isa isa = Isa::automatic;
  bool bf16 = false;
  bool force = false;
  bool check = false;
  bool json = false;
};
struct RotateArguments {
  LayerJob job;
  std::optional<std::int64_t> rotation;
  std::optional<std::string> q;  // FILE or FILE:TENSOR
  std::optional<std::string> k;
  std::string positions = "0";
  Direction direction = Direction::forward;
  Angles angles = Angles::exact;
};
struct AttendArguments {
  LayerJob job;
  bool cross = false;
  std::string q;  // FILE or FILE:TENSOR
  std::string k;
  std::string v;
  std::optional<std::string> weights;
  std::optional<std::string> positions;    // of the keys
  std::optional<std::string> q_positions;  // left out: queries are the last of the keys' tokens
  std::optional<std::string> mask;         // instead of the layer's
  bool q_rotated = false;
  bool k_rotated = false;
  bool lse = false;
  Products products = Products::f32;
};
struct BenchRotateArguments {
  std::string model = "llama-3.1-8b";
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> rotation;
  bool json = false;
};
struct BenchAttendArguments {
  std::string model = "llama-3.1-8b";
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;  // left out: one of each kind
  bool cross = false;
  std::optional<std::string> weights;
  std::optional<std::int64_t> tokens;
  std::optional<DType> dtype;
  std::int64_t threads = 1;
  Isa isa = Isa::automatic;
  Products products = Products::f32;
  bool json = false;
};
enum class PropertiesView : std::uint8_t { properties, list, cost, order, four_terms, decay, noise };
struct PropertiesArguments {
  PropertiesView view = PropertiesView::properties;
  std::vector<std::string> schemes;  // none: all that the view is about
  std::int64_t tokens = 512;         // whose cost is counted
  bool json = false;
};
struct InfoArguments {
  bool json = false;
};
struct PresetsArguments {
  bool json = false;
};
struct DemoArguments {
  std::string preset = "llama-3.1-8b";
  bool json = false;
};
// --help and --version: text for standard output.
struct Words {
  std::string text;
};

using Command = std::variant<InspectArguments, CompareArguments, RotateArguments, AttendArguments, PlotArguments,
                             BenchRotateArguments, BenchAttendArguments, PropertiesArguments, InfoArguments,
                             PresetsArguments, DemoArguments, Words>;

// A command line that cannot be followed. what() is the message, without "posenc: ".
struct UsageError {
  std::string message;
};

// Throws UsageError.
Command read_command_line(int argc, const char* const* argv);

}  // namespace posenc::tool
