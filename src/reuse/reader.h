// Of CacheOperation::share: the model that reads another's cache, layer by layer, by compare().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "posenc/plan.h"

namespace posenc::reuse {

struct ReadLayer {
  bool same_angles = true;  // keys that are stored rotated serve as they are
  std::string refused{};    // in what keys differ that no rotation mends; empty: in nothing
};

class Reader {
 public:
  // `reader` null: `plan` with every base doubled.
  Reader(const Plan& plan, std::size_t stack, const Plan* reader);

  ReadLayer layer(std::size_t at) const { return read_[at]; }
  // Whether it makes the same of hidden states.
  bool same(std::size_t at) const { return same_[at]; }
  // Whether its other stacks are the same in everything.
  bool same_elsewhere() const { return same_elsewhere_; }

 private:
  std::vector<ReadLayer> read_;
  std::vector<bool> same_;
  bool same_elsewhere_ = true;
};

}  // namespace posenc::reuse
