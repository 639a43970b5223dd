// Operations on the caches of a small model, carried out and held against a run of the new sequence from the start.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "posenc/cache/reuse.h"
#include "reuse/small_model.h"

namespace posenc::test {

// The schemes of all_schemes(), and what else a plan says that decides on a cache: norms, what is added to hidden
// states and keys, rules by length, masks.
struct ReuseCase {
  std::string name;
  Plan plan;  // two layers of one kind
  std::function<LayerWeights(Tables&)> weights{};
  std::int64_t side = 0;
};
std::vector<ReuseCase> reuse_cases();
Plan plan_of(std::vector<LayerPlan> layers);

inline constexpr std::int64_t kTokens = 12;  // of a text
inline constexpr std::int64_t kLong = 64;    // the length that rules are asked for

// The new sequence, and where each of its tokens was cached.
struct Operated {
  Text text;
  std::vector<std::int64_t> source;  // of the texts
  std::vector<std::int64_t> row;
};

class Operations {
 public:
  // `by`: how far a shift moves; `length`: of what is cached. A shift makes it longer where a rule has frequencies for
  // every length; elsewhere it stays on its side of a switch.
  Operations(const SmallModel& model, std::int64_t by, std::int64_t length = kLong);

  Operated operated(CacheOperation operation) const;
  // What the operated cache gives at a layer, over what the new sequence gives: the largest difference of an output,
  // over the largest output, of the tokens from `first` on, before `end`. Infinite where attend refuses such keys.
  double difference(CacheOperation operation, std::size_t layer, StoredKeys keys, std::int64_t first = 0,
                    std::int64_t end = kTokens) const;

 private:
  // The run of the new sequence, and what each of its layers gives: once for all layers and ways of storing keys.
  struct Anew {
    Operated to;
    Plan reader;
    std::vector<LayerTokens> tokens;
    std::vector<std::vector<double>> outputs;
  };
  const Anew& anew(CacheOperation operation) const;
  LayerTokens cached(const Operated& to, std::size_t layer, StoredKeys keys, const Plan& reader) const;

  const SmallModel& model_;
  std::int64_t by_;
  std::int64_t length_;
  std::vector<Text> texts_;
  std::vector<std::vector<LayerTokens>> runs_;
  mutable std::map<CacheOperation, Anew> anew_;
};

}  // namespace posenc::test
