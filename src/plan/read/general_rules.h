// The rules for a family that is not known here: what its keys say by themselves.
//
//   sizes under any of their names; a base means a rotation of the whole head or of the given part, halves paired;
//   else n_positions or position_embedding_type "absolute" mean a learned table; else no stage is claimed.
// A plan that was read so is never known.
#pragma once

#include <string_view>

#include "plan/families/family.h"
#include "plan/scope/config_reader.h"

namespace posenc::plan {

// `name` must outlive the row.
Family general_family(std::string_view name) noexcept;

// Whether the object says how many layers and heads there are and how wide, without which there is nothing to read.
bool has_sizes(ConfigReader& reader, const io::JsonValue& object);

}  // namespace posenc::plan
