// What is known of a stack, whatever file it was read from: readers of configs, of towers and of GGUF headers fill it
// and know nothing of plans; plan_of.h makes stacks of a plan of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/facts/layer_facts.h"
#include "plan/facts/sourced.h"
#include "posenc/plan.h"
#include "posenc/schemes.h"

namespace posenc::plan {

// Layers in order. Equal sources of several layers are kept once, so that memory does not follow what a file claims.
class StackLayers {
 public:
  // `block`: self and cross attention of one block share it.
  void add(const LayerFacts& layer, std::int64_t block);
  void reserve(std::int64_t layers) { layers_.reserve(static_cast<std::size_t>(layers)); }

  const std::vector<LayerPlan>& layers() const noexcept { return layers_; }
  std::vector<LayerPlan> take_layers() { return std::move(layers_); }
  // "/stacks/0/layers/0-31/rotate/0/base", "/stacks/0/layers/0-4,6-10/mask/window". `prefix`: "/stacks/0/layers".
  std::vector<ValueSource> sources(std::string_view prefix) const;

 private:
  struct Source {
    FieldSource source;
    std::string layers;      // "0-4,6-10", the last range without its end
    std::int64_t first = 0;  // of the last range
    std::int64_t last = 0;
  };
  std::vector<LayerPlan> layers_;
  std::vector<Source> sources_;
};

struct StackFacts {
  std::string name{};
  std::vector<InputScheme> input{};
  std::vector<FieldSource> input_sources{};  // "input/0/positions"
  std::string count_from{};                  // what says how many layers there are
  StackLayers layers{};
  Sourced<std::int64_t> trained_length{};  // 0: the file does not say
  bool known = true;                       // false: a warning names what could not be decided
};

}  // namespace posenc::plan
