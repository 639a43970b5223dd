// From a model's own files to its plan.
//
//   auto plan = posenc::read_plan("model/config.json");
//   if (!plan) report(plan.error().message());
//
// Reads a Hugging Face config.json (what each key does and which key wins: docs/config-reading.md) or a GGUF file of
// version 1 to 3 (docs/gguf.md), told apart by the first bytes; from a path, from memory or from a stream. A directory
// stands for the config.json in it. Of a GGUF file only the header is read, and three small tensors that hold factors
// of frequencies; the file may have any size. Whatever the bytes are, the answer is a plan or a FileError, and memory
// grows by at most 64 times the text (of GGUF: what the header's keys about positions take) plus 1 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "posenc/error.h"
#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {

struct ReadOptions {
  std::optional<std::int64_t> length{};  // goes to Plan::length
};

POSENC_API Result<Plan> read_plan(const std::filesystem::path& path, const ReadOptions& options = {});
// `name` stands for the file in errors and in Plan::source.
POSENC_API Result<Plan> read_plan(std::span<const std::byte> model_file, std::string_view name,
                                  const ReadOptions& options = {});

// As read(2): bytes read, 0 at the end, -1 with errno set.
using ByteStream = std::function<std::ptrdiff_t(std::byte* to, std::size_t count)>;
// A config is read to its end; of a GGUF model no more than the header is waited for, and the tensors with factors,
// which lie behind it, are not read: the plan is not `known` where there are any.
POSENC_API Result<Plan> read_plan(const ByteStream& stream, std::string_view name, const ReadOptions& options = {});

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

}  // namespace posenc::inline v0_2
