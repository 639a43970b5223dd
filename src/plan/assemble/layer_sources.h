// Where each value of a stack's layers came from, with equal entries of several layers told once:
// "/stacks/0/layers/0-31/rotate/0/base", "/stacks/0/layers/0-4,6-10/mask/window".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/rope/keys.h"
#include "posenc/plan.h"

namespace posenc::plan {

class LayerSources {
 public:
  // Layers in ascending order.
  void add(std::int64_t layer, const std::vector<FieldSource>& sources);
  // `prefix`: "/stacks/0/layers".
  std::vector<ValueSource> merged(std::string_view prefix) const;

 private:
  struct Entry {
    FieldSource source;
    std::string layers;      // "0-4,6-10", the last range without its end
    std::int64_t first = 0;  // of the last range
    std::int64_t last = 0;
  };
  std::vector<Entry> entries_;
};

}  // namespace posenc::plan
