// From a model's own files to its plan.
//
//   auto plan = posenc::read_plan("model/config.json");
//   if (!plan) report(plan.error().message());
//
// Reads a Hugging Face config.json, from a path (a file, or a directory that holds one) or from memory. What each key
// does and which key wins: docs/config-reading.md. Whatever the bytes are, the answer is a plan or a FileError, and
// memory grows by at most 64 times the text plus 1 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "posenc/error.h"
#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc {

struct ReadOptions {
  std::optional<std::int64_t> length{};  // goes to Plan::length
};

POSENC_API Result<Plan> read_plan(const std::filesystem::path& path, const ReadOptions& options = {});
// `name` stands for the file in errors and in Plan::source.
POSENC_API Result<Plan> read_plan(std::span<const std::byte> config_json, std::string_view name,
                                  const ReadOptions& options = {});

// Models whose position facts are built in: the keys of their config.json that bear on positions, read by the same
// reader.
struct Preset {
  std::string_view name;         // "llama-3.1-8b"
  std::string_view config_json;  // those keys
  bool checked = false;          // a test holds its plan against that of the model's own, unedited file
};
POSENC_API std::span<const Preset> presets() noexcept;
// Throws Error, naming the nearest presets, when there is none of that name.
POSENC_API Plan preset_plan(std::string_view name, const ReadOptions& options = {});

}  // namespace posenc
