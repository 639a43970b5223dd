// Model files that are no Hugging Face config: which schema an object has, by its keys.
//
// A schema that is read has a family of its own (llama-params of llama.cpp, mistral-params of mistral.cpp, ...), whose
// model type stands for it. One that is not read is an error that says what the file is.
#pragma once

#include <optional>
#include <string_view>

#include "plan/scope/config_reader.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct NativeSchema {
  std::string_view model_type;  // of the family whose rules hold
  SourceKind kind;
};

// Nothing for a config with a model_type of its own or architectures, and for an object of no schema known here.
std::optional<NativeSchema> find_native_schema(ConfigReader& reader);

// What the file is, where its keys show that it is no model's configuration; empty otherwise.
std::string_view foreign_schema(ConfigReader& reader);

// Whether members of the object, or of lists in it, are configs: "/discriminator". Empty: none is.
std::string config_inside(ConfigReader& reader);

}  // namespace posenc::plan
