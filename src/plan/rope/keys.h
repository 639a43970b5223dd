// Reads the keys of a rotation out of the dictionaries and from beside them, and remembers where each came from, so
// that what is wrong with the finished Rope can be said at the key that is to blame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/facts/sourced.h"
#include "plan/rope/dicts.h"
#include "posenc/error.h"

namespace posenc::plan {

// How a rule treats original_max_position_embeddings.
struct OriginalLength {
  bool beside_wins = false;   // over the one in the dictionary
  bool must_be_less = false;  // than the trained length, not only at most
};

// The code of the warning that original_length() gives.
inline constexpr std::string_view kMissingOriginalLength = "missing-original-length";

class RopeKeys {
 public:
  RopeKeys(RopeDicts& dicts, const LayerTraits& layer, const Sourced<std::int64_t>& trained_length,
           std::int64_t layers);

  ConfigScope& scope() const noexcept { return scope_; }
  ConfigReader& reader() const noexcept { return scope_.reader(); }
  const Sourced<std::int64_t>& trained_length() const noexcept { return trained_length_; }
  std::int64_t layers() const noexcept { return layers_; }
  const RopeDicts& dicts() const noexcept { return dicts_; }
  bool has_trained_length() const noexcept { return trained_length_.value > 0; }

  // The key in the dictionaries, then `beside` them; marked as read, losers that disagree warned of.
  std::optional<Place> find(std::string_view name);
  std::optional<Place> find(std::string_view name, const Key& beside);
  std::optional<Place> find_beside_first(std::string_view name, const Key& beside);
  std::optional<Place> peek(std::string_view name);  // not marked

  // These record the source of "scaling/NAME".
  double required_number(std::string_view name);
  std::optional<double> number(std::string_view name);
  std::optional<double> number(std::string_view name, const Key& beside);
  std::optional<bool> flag(std::string_view name);
  std::vector<double> divisors(std::string_view name, std::int64_t pairs);
  // The same of numbers that stand beside the other keys, not in a rope dictionary (native_schemas.cpp), under other
  // names than the rule's. Without the key, and without a default of it, an error.
  double number_beside(const Key& key, std::string_view field);
  std::int64_t original_length_beside(const Key& key);
  std::vector<double> divisors_beside(const Key& key, std::string_view field, std::int64_t pairs);
  // Where the original length of a rule that scales stands (yarn, longrope, llama3).
  std::optional<Place> find_original(OriginalLength rule);
  std::int64_t original_length(OriginalLength rule);  // the same, read; absent: the trained length, with a warning
  double factor();                                    // required
  double factor_or_stretch(std::int64_t original);    // absent: trained length over original length

  void note(std::string field, const Place& place);
  void note(std::string field, std::string from);
  // The rule that `rope` breaks becomes an error at the key it came from.
  void blame(const Problem& problem);
  void fail_missing(std::string_view name);

  // Whether lists of so many entries in every layer stay within the limit; else an error.
  bool reserve_list(const Place& place, std::int64_t entries);

  std::vector<FieldSource> take_sources() { return std::move(sources_); }

 private:
  std::optional<Place> settle(std::vector<Place> candidates);
  std::vector<Place> in_dictionaries(std::string_view name);
  std::optional<Place> required_beside(const Key& key, std::string_view field);
  std::vector<double> read_divisors(const Place& place, std::int64_t pairs);

  const RopeDicts& dicts_;
  ConfigScope& scope_;
  std::vector<Place> places_;
  const Sourced<std::int64_t>& trained_length_;
  std::int64_t layers_;
  bool original_stands_in_ = false;  // the trained length, for want of an original one
  std::vector<FieldSource> sources_;
  std::vector<std::pair<std::string, Place>> blamable_;  // field -> where to point
};

}  // namespace posenc::plan
