// Config keys by any of their names: read, left out on purpose, or misspelled; what each key of a rope dictionary says.
#include "plan/keys/key_notes.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plan/keys/nearest_names.h"

namespace posenc::plan {
namespace {

constexpr const Key* kPositionKeys[] = {
#define POSENC_KEY(name, ...) &keys::name,
#include "plan/keys/config_keys.inc"
#undef POSENC_KEY
};

constexpr KeyNote kDictionaryKeys[] = {
    {"rope_type", "the scaling rule: default, linear, dynamic, yarn, longrope, llama3, proportional, ntk"},
    {"type", "the same, in older files; rope_type beats it. su is longrope, mrope the default rule"},
    {"rope_theta", "the base; beats the key beside the dictionary"},
    {"factor", "by how much the rule stretches; YaRN and LongRoPE without one: trained length over original length"},
    {"original_max_position_embeddings", "tokens before the rule was applied"},
    {"partial_rotary_factor", "the part of a head that rotates; in the proportional rule, the part of its pairs"},
    {"alpha", "Hunyuan: the base times alpha^(dim / (dim - 2)), where the rule is dynamic"},
    {"attention_factor", "YaRN, LongRoPE: the factor on cos and sin, in place of the rule's own"},
    {"beta_fast", "YaRN: turns in the original length from which a pair stays; 0 or absent: 32"},
    {"beta_slow", "YaRN: turns up to which a pair is divided; 0 or absent: 1"},
    {"mscale", "YaRN: the attention factor is g(factor, mscale) / g(factor, mscale_all_dim)"},
    {"mscale_all_dim", "the same; with latent attention also the softmax scale, times its square"},
    {"truncate", "YaRN: whether the borders between pairs are rounded; absent: yes"},
    {"short_factor", "LongRoPE: a divisor for each pair, up to the original length"},
    {"long_factor", "LongRoPE: a divisor for each pair, beyond the original length"},
    {"short_mscale", "PhiMoE: the attention factor up to the original length"},
    {"long_mscale", "PhiMoE: the attention factor beyond it"},
    {"low_freq_factor", "Llama 3: pairs with wavelengths above original length / this are divided"},
    {"high_freq_factor", "Llama 3: pairs with wavelengths below original length / this stay"},
    {"mrope_section", "pairs that each of the axes t, h, w rotates"},
    {"mrope_interleaved", "whether axes take pairs in turn (true) or in blocks"},
};

// Every name of the tables that is read, with all names of its key; and every name that is left out.
using Table = std::unordered_map<std::string_view, Names>;

Table read_names() {
  Table table;
  for (const Key* key : kPositionKeys) {
    for (std::string_view name : key->names) table.emplace(name, key->names);
  }
  for (const KeyNote& note : kDictionaryKeys) table.emplace(note.name, Names(note.name));
  return table;
}

const Table& table_of_read_names() {
  static const Table table = read_names();
  return table;
}

// Which letters a name has, a bit each; other characters share the bits that are left.
std::uint32_t letters_of(std::string_view name) noexcept {
  std::uint32_t letters = 0;
  for (const char c : name) letters |= std::uint32_t{1} << (static_cast<unsigned char>(c) % 32U);
  return letters;
}

struct Spelling {
  std::string_view name;
  std::uint32_t letters;
};

std::vector<Spelling> spellings_of_read_names() {
  std::vector<Spelling> out;
  for (const auto& [name, names] : table_of_read_names()) out.push_back({name, letters_of(name)});
  std::ranges::sort(out, {}, &Spelling::name);
  return out;
}

std::unordered_set<std::string_view> left_out_names() {
  std::unordered_set<std::string_view> names;
  for (const auto groups : {keys_that_mislead(), keys_of_other_things()}) {
    for (const LeftOut& group : groups) names.insert(group.names.begin(), group.names.end());
  }
  return names;
}

bool is_left_out(std::string_view name) {
  static const std::unordered_set<std::string_view> names = left_out_names();
  return names.contains(name);
}

}  // namespace

std::span<const Key* const> position_keys() noexcept { return kPositionKeys; }
std::span<const KeyNote> dictionary_keys() noexcept { return kDictionaryKeys; }

Names names_of_key(std::string_view name) {
  const auto row = table_of_read_names().find(name);
  return row == table_of_read_names().end() ? Names{} : row->second;
}

bool is_known_key(std::string_view name) { return table_of_read_names().contains(name) || is_left_out(name); }

std::string_view misspelled_key(std::string_view name, const std::function<bool(std::string_view)>& is_meant) {
  constexpr std::size_t kShortest = 6;  // below it, two letters make another word
  constexpr std::size_t kLetters = 2;
  if (name.size() < kShortest || is_known_key(name)) return {};
  static const std::vector<Spelling> spellings = spellings_of_read_names();
  const std::uint32_t letters = letters_of(name);
  std::string_view nearest;
  std::size_t fewest = kLetters + 1;
  for (const Spelling& known : spellings) {
    const std::size_t longer = std::max(name.size(), known.name.size());
    if (known.name.size() < kShortest || longer - std::min(name.size(), known.name.size()) > kLetters) continue;
    if (std::popcount(letters ^ known.letters) > static_cast<int>(2 * kLetters)) continue;  // an edit changes two
    const std::size_t distance = edits(name, known.name);
    if (distance < fewest && (!is_meant || is_meant(known.name))) {
      fewest = distance;
      nearest = known.name;
    }
  }
  return nearest;
}

}  // namespace posenc::plan
