// A Rope from the small config dicts that published test cases carry. Only what those files need: the real reader, for
// real models, is read_plan.h.
#pragma once

#include <rapidjson/document.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/rope.h"

namespace posenc::test {

using Json = rapidjson::Value;

inline rapidjson::Document read_json(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  rapidjson::Document document;
  document.Parse<rapidjson::kParseFullPrecisionFlag>(text.c_str());
  EXPECT_FALSE(document.HasParseError()) << path;
  return document;
}

inline std::vector<double> numbers(const Json& array) {
  std::vector<double> result;
  for (const Json& value : array.GetArray()) result.push_back(value.GetDouble());
  return result;
}

inline std::optional<double> number(const Json& object, const char* key) {
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || member->value.IsNull()) return {};
  return member->value.GetDouble();
}

inline std::optional<std::int64_t> integer(const Json& object, const char* key) {
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || member->value.IsNull()) return {};
  return member->value.GetInt64();
}

inline Scaling config_scaling(const Json& config, const Json& rule, std::string_view type) {
  const std::int64_t trained = *integer(config, "max_position_embeddings");
  const std::int64_t original = integer(config, "original_max_position_embeddings")
                                    .value_or(integer(rule, "original_max_position_embeddings").value_or(trained));
  const double extension = static_cast<double>(trained) / static_cast<double>(original);
  if (type == "default") return {};
  if (type == "linear") return LinearScaling{*number(rule, "factor")};
  if (type == "dynamic") return DynamicScaling{*number(rule, "factor"), trained};
  if (type == "yarn") {
    return YarnScaling{.factor = number(rule, "factor").value_or(extension),
                       .original_max_position_embeddings = original,
                       .attention_factor = number(rule, "attention_factor"),
                       .beta_fast = number(rule, "beta_fast"),
                       .beta_slow = number(rule, "beta_slow"),
                       .mscale = number(rule, "mscale"),
                       .mscale_all_dim = number(rule, "mscale_all_dim"),
                       .truncate = !rule.HasMember("truncate") || rule["truncate"].GetBool()};
  }
  if (type == "longrope") {
    return LongRopeScaling{.short_factor = numbers(rule["short_factor"]),
                           .long_factor = numbers(rule["long_factor"]),
                           .original_max_position_embeddings = original,
                           .factor = number(rule, "factor").value_or(extension),
                           .attention_factor = number(rule, "attention_factor")};
  }
  if (type == "llama3") {
    return Llama3Scaling{.factor = *number(rule, "factor"),
                         .low_freq_factor = *number(rule, "low_freq_factor"),
                         .high_freq_factor = *number(rule, "high_freq_factor"),
                         .original_max_position_embeddings = original};
  }
  if (type == "proportional") {
    return ProportionalScaling{.partial_rotary_factor = *number(rule, "partial_rotary_factor"),
                               .factor = number(rule, "factor").value_or(1)};
  }
  ADD_FAILURE() << "no rule " << type;
  return {};
}

inline Rope config_rope(const Json& config) {
  const Json& rule = config.HasMember("rope_scaling") ? config["rope_scaling"] : config["rope_parameters"];
  const std::string_view type = (rule.HasMember("rope_type") ? rule["rope_type"] : rule["type"]).GetString();
  const std::int64_t head_dim = config.HasMember("head_dim")
                                    ? *integer(config, "head_dim")
                                    : *integer(config, "hidden_size") / *integer(config, "num_attention_heads");
  const double part =
      number(rule, "partial_rotary_factor").value_or(number(config, "partial_rotary_factor").value_or(1));
  const bool whole = type == "proportional";
  return {.pairing = Pairing::half,
          .head_dim = head_dim,
          .dim = whole ? head_dim : static_cast<std::int64_t>(static_cast<double>(head_dim) * part),
          .base = number(rule, "rope_theta") ? *number(rule, "rope_theta") : *number(config, "rope_theta"),
          .scaling = config_scaling(config, rule, type)};
}

}  // namespace posenc::test
