// What each kind of picture is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "posenc/schemes.h"

namespace posenc::tool {

// Rows of what is added to embeddings, by position and channel.
struct EncodingPlot {
  std::string scheme = "sinusoidal";
  std::optional<std::string> table{};  // FILE or FILE:TENSOR, instead of a scheme
  std::optional<std::string> model{};  // whose scheme it is
  std::optional<std::string> stack{};
  std::int64_t start = 0;
  std::int64_t positions = 64;
  std::int64_t channels = 64;
  bool products = false;  // of each row with each
};

struct PlotArguments {
  std::variant<EncodingPlot> plot;
  std::optional<std::string> out{};
  bool force = false;
  bool json = false;
};

}  // namespace posenc::tool
