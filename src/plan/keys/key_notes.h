// What every key of a config means to the reader: it is read (config_keys.inc, the rope dictionaries), or
// left out on purpose, with the reason, or not known. docs/config-keys.md is printed from these tables.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "plan/keys/config_keys.h"

namespace posenc::plan {

struct KeyNote {
  std::string_view name;
  std::string_view about;
};

// Keys that no position depends on, or that say again what another decides.
struct LeftOut {
  std::string_view why;
  Names names;
};

std::span<const Key* const> position_keys() noexcept;   // all of config_keys.inc
std::span<const KeyNote> dictionary_keys() noexcept;    // of rope_parameters and rope_scaling
std::span<const LeftOut> keys_that_mislead() noexcept;  // they look like position keys
std::span<const LeftOut> keys_of_other_things() noexcept;

// All names of the key that has this one; of a dictionary's key, that one name; none for other names.
Names names_of_key(std::string_view name);
// Whether a key of that name stands in one of the tables.
bool is_known_key(std::string_view name);
// The key that bears on positions and differs from `name` by one or two letters; empty when there is none, and for
// names that are known themselves. is_meant: of which keys; empty: of all.
std::string_view misspelled_key(std::string_view name, const std::function<bool(std::string_view)>& is_meant = {});

}  // namespace posenc::plan
