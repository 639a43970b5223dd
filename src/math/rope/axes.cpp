// Axis maps of models whose tokens have several coordinates: for each pair, the coordinate that rotates it.
//
// M-RoPE, Qwen2-VL, arXiv 2409.12191, chunks the ladder, so time takes the fast pairs and width the slow ones; later
// models deal the pairs out instead. `mrope_interleaved` in a config chooses between the two, and says nothing about
// Pairing. Sections count pairs; Hugging Face's Qwen2-VL doubles them, because its cos and sin are repeated over both
// halves of the head.
#include <cstddef>
#include <numeric>

#include "base/formatted.h"
#include "math/layout.h"

namespace posenc::inline v0_2 {
namespace {

// Every section counts at least 0 pairs, and all of them fit in a head.
void require_sections(std::string_view where, const std::vector<std::int64_t>& sections, std::size_t axes) {
  if (sections.size() != axes) {
    throw Error(where, {"sections", formatted("have one count for each of {} axes", axes),
                        formatted("{} long", sections.size())});
  }
  constexpr std::int64_t kMaxPairs = math::kMaxHeadDim / 2;
  std::int64_t pairs = 0;
  for (std::size_t a = 0; a < axes; ++a) {
    if (sections[a] < 0 || sections[a] > kMaxPairs - pairs) {
      throw Error(where, {formatted("sections[{}]", a),
                          formatted("count at least 0 pairs, and all sections together at most {},", kMaxPairs),
                          formatted("{}", sections[a])});
    }
    pairs += sections[a];
  }
  if (pairs == 0) throw Error(where, {"sections", "count at least one pair", "all 0"});
}

std::size_t pairs_of(const std::vector<std::int64_t>& sections) {
  return static_cast<std::size_t>(std::accumulate(sections.begin(), sections.end(), std::int64_t{0}));
}

}  // namespace

AxisMap chunked_axes(std::vector<std::string> names, const std::vector<std::int64_t>& sections) {
  require_sections("chunked_axes", sections, names.size());
  std::vector<std::int32_t> of_pair;
  of_pair.reserve(pairs_of(sections));
  for (std::size_t a = 0; a < sections.size(); ++a) {
    of_pair.insert(of_pair.end(), static_cast<std::size_t>(sections[a]), static_cast<std::int32_t>(a));
  }
  return {std::move(names), std::move(of_pair)};
}

AxisMap interleaved_axes(const std::vector<std::int64_t>& sections_thw) {
  require_sections("interleaved_axes", sections_thw, 3);
  std::vector<std::int32_t> of_pair(pairs_of(sections_thw), 0);
  for (std::size_t a = 1; a < 3; ++a) {
    for (std::int64_t i = 0; i < sections_thw[a]; ++i) {
      const auto pair = static_cast<std::size_t>(3 * i) + a;
      if (pair >= of_pair.size()) {
        throw Error("interleaved_axes",
                    {formatted("sections[{}]", a), formatted("find room in every third of {} pairs", of_pair.size()),
                     formatted("{}", sections_thw[a])});
      }
      of_pair[pair] = static_cast<std::int32_t>(a);
    }
  }
  return {{"t", "h", "w"}, std::move(of_pair)};
}

AxisMap alternating_axes(const std::vector<std::int64_t>& sections_hwt) {
  require_sections("alternating_axes", sections_hwt, 3);
  if (sections_hwt[0] != sections_hwt[1]) {
    throw Error("alternating_axes", {"sections", "give h and w as many pairs, since they alternate,",
                                     formatted("{} and {}", sections_hwt[0], sections_hwt[1])});
  }
  std::vector<std::int32_t> of_pair(pairs_of(sections_hwt), 0);
  const auto spatial = static_cast<std::size_t>(2 * sections_hwt[0]);
  for (std::size_t p = 0; p < spatial; ++p) of_pair[p] = p % 2 == 0 ? 1 : 2;
  return {{"t", "h", "w"}, std::move(of_pair)};
}

AxisMap axial_axes(std::vector<std::string> names, std::int64_t pairs) {
  const auto axes = static_cast<std::int64_t>(names.size());
  if (axes == 0) throw Error("axial_axes", {"names", "name at least one axis", "empty"});
  if (pairs < 1 || pairs % axes != 0) {
    throw Error("axial_axes",
                {"pairs", formatted("be a positive multiple of the {} axes", axes), formatted("{}", pairs)});
  }
  const std::vector<std::int64_t> sections(names.size(), pairs / axes);
  require_sections("axial_axes", sections, names.size());
  return chunked_axes(std::move(names), sections);
}

}  // namespace posenc::inline v0_2
