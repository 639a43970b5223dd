#include "inspect/rope_lengths.h"

#include <variant>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

struct Lengths {
  std::vector<std::int64_t> operator()(const DynamicScaling& s) const {
    return {s.max_position_embeddings, 2 * s.max_position_embeddings, 4 * s.max_position_embeddings};
  }
  std::vector<std::int64_t> operator()(const QwenNtkScaling& s) const {
    return {s.seq_length, 2 * s.seq_length, 4 * s.seq_length};
  }
  std::vector<std::int64_t> operator()(const LongRopeScaling& s) const {
    return {s.original_max_position_embeddings, s.original_max_position_embeddings + 1};
  }
  template <typename Other>
  std::vector<std::int64_t> operator()(const Other&) const {
    return {};
  }
};

struct Holds {
  std::optional<std::int64_t> length;

  std::string operator()(const DynamicScaling& s) const { return base_for(s.max_position_embeddings); }
  std::string operator()(const QwenNtkScaling& s) const { return base_for(s.seq_length); }
  std::string operator()(const LongRopeScaling& s) const {
    const std::int64_t last = s.original_max_position_embeddings;
    return is_beyond(last) ? formatted("long_factor (beyond {})", count(last, "token"))
                           : formatted("short_factor (up to {})", count(last, "token"));
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "";
  }

 private:
  bool is_beyond(std::int64_t last) const { return length && *length > last; }
  std::string base_for(std::int64_t last) const {
    return is_beyond(last) ? formatted("the base scaled for {}", count(*length, "token"))
                           : formatted("the unscaled base (up to {})", count(last, "token"));
  }
};

}  // namespace

std::vector<std::int64_t> telling_lengths(const Rope& rope) { return std::visit(Lengths{}, rope.scaling); }

std::optional<std::int64_t> shown_length(const Rope& rope, std::optional<std::int64_t> asked,
                                         std::optional<std::int64_t> trained) {
  if (asked || !trained || check(rope, trained)) return asked;
  return trained;
}

std::string length_text(const Rope& rope, std::optional<std::int64_t> length) {
  return std::visit(Holds{length}, rope.scaling);
}

}  // namespace posenc::tool
