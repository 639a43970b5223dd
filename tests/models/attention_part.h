// Attention as a part of a block: projections and norms around reference::attend, with a cache.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/arithmetic.h"
#include "models/model.h"
#include "posenc/reference_attend.h"

namespace posenc::test {

// Of one call: what a layer reads besides the hidden states.
struct Reading {
  const Numbers* memory = nullptr;  // keys and values are made of these, [tokens, channels], and not kept
  Numbers coordinates{};            // of the tokens, [axes, tokens]; left out: counted on from what was seen before
};

class AttentionPart {
 public:
  AttentionPart(Arithmetic& arithmetic, const Setting& setting) : arithmetic_(arithmetic), setting_(setting) {}

  // x [tokens, channels]; `at` is where the part's weights are, and names its cache.
  Numbers operator()(const LayerPlan& layer, const std::string& at, const Numbers& x, const Reading& reading);

 private:
  struct Heads {
    Numbers q, k, v;
    Numbers gate{};
  };
  // [axes, tokens], of queries and of keys.
  struct Coordinates {
    Numbers queries, keys;
  };
  struct Cache {
    Numbers k, v;
    Numbers coordinates;  // [tokens, axes]
  };

  Heads projected(const LayerPlan& layer, const std::string& at, const Numbers& x, const Numbers& source);
  Heads latent(const LayerPlan& layer, const std::string& at, const Numbers& x);
  void normalise(const LayerPlan& layer, const std::string& at, std::int64_t heads, Numbers& x);
  void normalise_both(const LayerPlan& layer, QkNorm::Order now, const std::string& at, Heads& heads);
  Numbers attended(const LayerPlan& layer, const std::string& at, const Heads& heads, const Coordinates& at_places,
                   bool are_rotated);

  void attend_roughly(const LayerPlan& layer, reference::AttendArgs args, Tensor& out);

  Arithmetic& arithmetic_;
  Setting setting_;
  std::map<std::string, Cache> caches_;
};

}  // namespace posenc::test
