// From the text of a config.json to the plan, and what the files of this folder do on the way, each in a file of its
// own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/facts/stack_facts.h"
#include "plan/families/config_layouts.h"
#include "plan/scope/config_reader.h"
#include "posenc/error.h"
#include "posenc/plan.h"
#include "posenc/read_plan.h"

namespace posenc::plan {

// ---- config_plan.cpp ----

// Throws Error for a length below 1.
void require_length(const ReadOptions& options);

// `source.name` stands for the file in errors. Nothing is thrown.
Result<Plan> read_config(std::string_view text, PlanSource source, const ReadOptions& options);

FileError wrong_format(const std::string& file, std::string expected, std::string got);

// The error for bytes that are no JSON because they are clearly something else; its name says more than a position, or
// than a size.
std::optional<FileError> foreign_format(std::string_view bytes, const std::string& file);

// ---- native_schemas.cpp: model files that are no Hugging Face config: which schema an object has, by its keys ----
//
// A schema that is read has a family of its own (llama-params of llama.cpp, mistral-params of mistral.cpp, ...), whose
// model type stands for it. One that is not read is an error that says what the file is.

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

// Whether the object says how many layers and heads there are and how wide, without which there is nothing to read.
bool has_sizes(ConfigReader& reader, const io::JsonValue& object);

// ---- config_stacks.cpp: whose rules hold for each object of a config, and their plans, the text decoder's first ----

// Fills in the family, the stacks, their sources and the trained length. `names` are those of the file's root.
void read_stacks(ConfigReader& reader, const ClassNames& names, Plan& plan);

// ---- other_stacks.cpp: stacks beside the text decoder: vision and audio encoders, tokenizers ----

// Adds the stacks that `object` describes to the plan's. A fact that is not decided is a warning, and plan.known false.
void read_other_stack(ConfigReader& reader, const Place& object, const OtherPlace& place, Plan& plan);

// For a key without an object that says that there is a stack: one without layers, named by the place's type.
void name_unread_stack(ConfigReader& reader, const Place& sign, const OtherPlace& place, Plan& plan);

// The same of layers that a wrapper counts at its top, where it is not known and the text's object does not say so too.
void name_own_layers(ConfigReader& reader, const io::JsonValue& text, Plan& plan);

// The same of an object that is not there, whose stack the model has in any case.
void name_absent_stack(ConfigReader& reader, const OtherPlace& place, Plan& plan);

// ---- unread_parts.cpp: what nobody read though a stack may depend on it ----

// Each object at the top that describes a stack and was not entered: a stack, which the types known here may read.
void name_unread_objects(ConfigReader& reader, Plan& plan);

// Undecided: each position key of the object that was not read, where the file names a class that is not of the family.
// A switch of a norm that the `stack` has agrees with it.
void leave_unread_keys_open(ConfigReader& reader, const io::JsonValue& object, std::string_view architecture,
                            const StackFacts& stack);

}  // namespace posenc::plan
