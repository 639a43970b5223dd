// At which sequence lengths Dynamic NTK, Qwen's NTK and LongRoPE are shown, and what holds there.
#include "inspect/rope_lengths.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "line/command_spec.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// Dynamic rules: the trained length, where the base is unscaled, and two doublings. LongRoPE: the last of one list, the
// first of the other.
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

// Without a length every rule answers as up to its trained one, as frequencies() does.
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
  // check() gives a problem where the rule breaks down.
  if (asked || !trained || check(rope, trained)) return asked;
  return trained;
}

std::optional<std::int64_t> original_length(const Rope& rope) {
  if (const auto* yarn = std::get_if<YarnScaling>(&rope.scaling)) return yarn->original_max_position_embeddings;
  if (const auto* llama3 = std::get_if<Llama3Scaling>(&rope.scaling)) return llama3->original_max_position_embeddings;
  if (const auto* list = std::get_if<LongRopeScaling>(&rope.scaling)) return list->original_max_position_embeddings;
  return {};
}

std::optional<std::int64_t> served_length(const Rope& rope, std::optional<std::int64_t> trained) {
  // The factor of Llama 3's rule is none of lengths: 32 where 8192 became 131072.
  const auto* const yarn = std::get_if<YarnScaling>(&rope.scaling);
  if (!trained || yarn == nullptr) return trained;
  const double stretched = yarn->factor * static_cast<double>(yarn->original_max_position_embeddings);
  if (!(stretched < static_cast<double>(kLargestLength))) return kLargestLength;
  return std::max(*trained, static_cast<std::int64_t>(std::llround(stretched)));
}

std::string length_text(const Rope& rope, std::optional<std::int64_t> length) {
  return std::visit(Holds{length}, rope.scaling);
}

}  // namespace posenc::tool
