// Reading small GGUF files in tests: what plan_reading.h is for configs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/read/plan_reading.h"
#include "support/gguf_builder.h"

namespace posenc::test {

inline Result<Plan> read_gguf_bytes(const std::string& bytes, std::string_view name = "model.gguf") {
  return read_plan(std::as_bytes(std::span(bytes.data(), bytes.size())), name);
}

// The plan, or a failed test and an empty plan.
inline Plan gguf_plan(const GgufBuilder& file) {
  const Result<Plan> plan = read_gguf_bytes(file.bytes());
  if (plan) return *plan;
  ADD_FAILURE() << plan.error().message();
  return {};
}

// The error, or a failed test and an empty error.
inline FileError gguf_error(const std::string& bytes) {
  const Result<Plan> plan = read_gguf_bytes(bytes);
  if (!plan) return plan.error();
  ADD_FAILURE() << "read without an error";
  return {};
}

// A model of 4 heads of 64 channels over 4096 positions, with a tensor, as it is not a vocabulary.
inline GgufBuilder model(const std::string& architecture, std::uint32_t blocks = 4, std::uint32_t version = 3,
                         bool big_endian = false) {
  GgufBuilder file(version, big_endian);
  file.text("general.architecture", architecture)
      .u32(architecture + ".block_count", blocks)
      .u32(architecture + ".context_length", 4096)
      .u32(architecture + ".embedding_length", 256)
      .u32(architecture + ".attention.head_count", 4)
      .zeros("output_norm.weight", {4});
  return file;
}

}  // namespace posenc::test
