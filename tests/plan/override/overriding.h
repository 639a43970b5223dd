// Settings in tests: their plan, and configs with keys changed by JSON pointers, an editor of their own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "plan/read/plan_reading.h"
#include "posenc/override_plan.h"

namespace posenc::test {

inline Plan overridden(const Plan& plan, const std::vector<std::string>& settings) {
  return override_plan(plan, settings);
}

// The text of the Error; empty, and a failed test, where there is none.
inline std::string refusal(const Plan& plan, const std::vector<std::string>& settings) {
  try {
    (void)override_plan(plan, settings);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error for " << settings.front();
  return {};
}

inline std::string preset_config(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (preset.name == name) return std::string(preset.config_json);
  }
  ADD_FAILURE() << "no preset " << name;
  return {};
}

// One member that is set to a JSON text, or taken away where that is empty. The path is a JSON pointer.
struct Edit {
  std::string pointer;
  std::string json;
};

// Writes `value` again, with the edit done: a plain recursion over pointers, which shares nothing with json_patch.cpp.
inline void write_edited(const io::JsonValue& value, const std::string& here, const Edit& edit, io::JsonWriter& json) {
  switch (value.kind()) {
    case io::JsonKind::object: {
      json.begin_object();
      bool done = edit.pointer.rfind('/') != here.size() || !edit.pointer.starts_with(here);
      for (const io::JsonValue& member : value.items()) {
        const std::string pointer = here + "/" + std::string(member.key());
        if (pointer != edit.pointer) {
          json.key(member.key());
          write_edited(member, pointer, edit, json);
          continue;
        }
        done = true;
        if (edit.json.empty()) continue;
        json.key(member.key());
        json.verbatim(edit.json);
      }
      if (!done && !edit.json.empty()) {
        json.key(edit.pointer.substr(here.size() + 1));
        json.verbatim(edit.json);
      }
      return json.end_object();
    }
    case io::JsonKind::array:
      json.begin_array();
      for (const io::JsonValue& entry : value.items()) write_edited(entry, here + "/-", edit, json);
      return json.end_array();
    case io::JsonKind::string: return json.value(value.text());
    case io::JsonKind::number: return json.verbatim(value.text());
    case io::JsonKind::boolean: return json.value(*value.as_bool());
    case io::JsonKind::null: return json.null();
  }
}

inline std::string edited(std::string text, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    const Result<io::JsonDocument> document = io::JsonDocument::parse(text, "config.json");
    if (!document) {
      ADD_FAILURE() << document.error().message();
      return {};
    }
    io::JsonWriter json;
    write_edited(document->root(), "", edit, json);
    text = json.take();
  }
  return text;
}

// A patch of ours, carried out by that editor. Its pointers have no escapes.
inline std::string applied(const std::string& config, const std::string& patch) {
  const Result<io::JsonDocument> document = io::JsonDocument::parse(patch, "patch");
  if (!document) {
    ADD_FAILURE() << document.error().message() << patch;
    return {};
  }
  std::vector<Edit> edits;
  for (const io::JsonValue& step : document->root().items()) {
    const auto member = [&](std::string_view name) { return **step.find(name); };
    Edit edit{.pointer = std::string(member("path").text()), .json = {}};
    if (member("op").text() == "add") {
      io::JsonWriter json(io::JsonLayout::line);
      write_edited(member("value"), "", {.pointer = "/-/-", .json = {}}, json);
      edit.json = json.take();
      std::erase(edit.json, '\n');
    }
    edits.push_back(std::move(edit));
  }
  return edited(config, edits);
}

// What both must agree in: all but names, sources and warnings.
inline void expect_same_facts(const Plan& wanted, const Plan& got, const std::string& what) {
  EXPECT_EQ(wanted.trained_length, got.trained_length) << what;
  EXPECT_TRUE(wanted.stacks == got.stacks) << what;
}

}  // namespace posenc::test
