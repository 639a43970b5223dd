// Names of a plan's JSON that schema_version 1 had otherwise. Such documents are still read; one that has names of both
// versions is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace posenc::plan {

// Keys, and the one value, by their names in version 2: "softmax_scale" is "logit_scale" in version 1. The same name
// where both versions have it.
std::string_view name_in(std::int64_t version, std::string_view name);

// What a document of `version` should have written, where it has the other version's name; nothing for all others.
std::optional<std::string_view> mixed_in(std::int64_t version, std::string_view written);

// A place of a plan, "/stacks/0/layers/0-31/logit_scale", as version 2 writes it; nothing where it has a name of the
// version that the document is not of.
std::optional<std::string> place_from(std::int64_t version, std::string_view where);

// "a name of schema_version 1": why a name that mixed_in() knows is refused.
std::string_view of_other_version(std::int64_t version);

}  // namespace posenc::plan
