#include "models/checkpoints.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "math/config_to_rope.h"
#include "posenc/read_plan.h"
#include "support/test_data.h"

namespace posenc::test {
namespace {

std::filesystem::path file_of(std::string_view name, std::string_view ending) {
  return test_data() / kCheckpointFolder / ("tiny_" + std::string(name) + std::string(ending));
}

rapidjson::Document config_of(const Checkpoint& checkpoint) {
  if (checkpoint.config.empty()) return read_json(file_of(checkpoint.name, "_config.json"));
  rapidjson::Document config;
  config.Parse(checkpoint.config.data(), checkpoint.config.size());
  return config;
}

Plan plan_of(const Checkpoint& checkpoint) {
  const Result<Plan> plan = checkpoint.config.empty()
                                ? read_plan(file_of(checkpoint.name, "_config.json"))
                                : read_plan(std::as_bytes(std::span(checkpoint.config)), checkpoint.name);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message());
  if (!plan) return {};
  EXPECT_TRUE(plan->known);
  Plan given = *plan;
  if (checkpoint.departure) checkpoint.departure->apply(given);
  return given;
}

constexpr std::pair<std::string_view, Activation> kActivations[] = {
    {"silu", Activation::silu},          {"swish", Activation::silu}, {"gelu", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh}, {"relu", Activation::relu},  {"gelu_pytorch_tanh", Activation::gelu_tanh},
};

// Configs' numbers that have nothing to do with positions.
constexpr std::pair<const char*, double Wiring::*> kNumbers[] = {
    {"rms_norm_eps", &Wiring::epsilon},       {"layer_norm_eps", &Wiring::epsilon},
    {"layer_norm_epsilon", &Wiring::epsilon}, {"norm_epsilon", &Wiring::epsilon},
    {"norm_eps", &Wiring::epsilon},           {"embedding_multiplier", &Wiring::embedding_scale},
    {"scale_emb", &Wiring::embedding_scale},  {"residual_multiplier", &Wiring::residual_scale},
    {"logit_scale", &Wiring::logit_scale},    {"final_logit_softcapping", &Wiring::logit_cap},
    {"logits_soft_cap", &Wiring::logit_cap},  {"routed_scaling_factor", &Wiring::routed_scale},
};

Wiring wiring_of(Wiring wiring, const Json& config) {
  for (const auto& [key, field] : kNumbers) wiring.*field = number(config, key).value_or(wiring.*field);
  wiring.logit_scale /= number(config, "logits_scaling").value_or(1);  // Granite divides
  wiring.chosen_experts = integer(config, "num_experts_per_tok").value_or(0);
  if (wiring.activation) return wiring;
  for (const char* key : {"hidden_act", "hidden_activation", "activation_function", "activation"}) {
    const auto member = config.FindMember(key);
    if (member == config.MemberEnd() || !member->value.IsString()) continue;
    for (const auto& [name, activation] : kActivations) {
      if (name == member->value.GetString()) wiring.activation = activation;
    }
  }
  return wiring;
}

std::vector<std::int64_t> integers(const Json& array) {
  std::vector<std::int64_t> all;
  for (const Json& one : array.GetArray()) all.push_back(one.GetInt64());
  return all;
}

// Numbers of arrays of arrays.
void append_all(const Json& array, Numbers& to) {
  for (const Json& one : array.GetArray()) {
    if (one.IsArray()) {
      append_all(one, to);
    } else {
      to.push_back(one.GetDouble());
    }
  }
}

// pixels [channels, height, width] to rows of squares, [patches, channels * size * size].
Numbers patches(const Json& pixels, rapidjson::SizeType size) {
  Numbers rows;
  const rapidjson::SizeType height = pixels[0].Size();
  const rapidjson::SizeType width = pixels[0][0].Size();
  for (rapidjson::SizeType patch = 0; patch < height / size * (width / size); ++patch) {
    const rapidjson::SizeType top = patch / (width / size) * size;
    const rapidjson::SizeType left = patch % (width / size) * size;
    for (const Json& channel : pixels.GetArray()) {
      for (rapidjson::SizeType i = 0; i < size * size; ++i) {
        rows.push_back(channel[top + i / size][left + i % size].GetDouble());
      }
    }
  }
  return rows;
}

// mel [channels, frames] to [frames, channels].
Numbers frames(const Json& mel) {
  Numbers rows;
  for (rapidjson::SizeType frame = 0; frame < mel[0].Size(); ++frame) {
    for (const Json& channel : mel.GetArray()) rows.push_back(channel[frame].GetDouble());
  }
  return rows;
}

}  // namespace

std::filesystem::path weights_of(const Checkpoint& checkpoint) {
  return file_of(checkpoint.weights.empty() ? checkpoint.name : checkpoint.weights, ".safetensors");
}

Published published(const Checkpoint& checkpoint) {
  const rapidjson::Document config = config_of(checkpoint);
  Published result{.model = {.plan = plan_of(checkpoint),
                             .weights = read_weights(weights_of(checkpoint), checkpoint.names),
                             .wiring = wiring_of(checkpoint.wiring, config)},
                   .cases = {}};
  const std::filesystem::path hidden = file_of(checkpoint.name, "_hidden.json");
  const auto answers = read_json(exists(hidden) ? hidden : file_of(checkpoint.name, "_logits.json"));
  const auto rows = [&](const char* key) { return answers.HasMember(key) ? answers[key].Size() : 0; };
  for (rapidjson::SizeType s = 0; s < std::max(rows("sequences"), rows("dec_sequences")); ++s) {
    Case& one = result.cases.emplace_back();
    const auto read = [&](const char* key, std::vector<std::int64_t>& tokens) {
      if (s < rows(key)) tokens = integers(answers[key][s]);
    };
    read("sequences", one.tokens);
    read("token_types", one.token_types);
    read("enc_sequences", one.source);
    read("dec_sequences", one.tokens);
    if (s < rows("mel_inputs")) one.rows = frames(answers["mel_inputs"][s]);
    for (const char* key : {"hidden", "enc_hidden", "logits"}) {
      if (s < rows(key)) append_all(answers[key][s], one.published);
    }
  }
  if (answers.HasMember("image_embeds")) {
    Case& one = result.cases.emplace_back();
    one.tokens = integers(answers["token_ids"]);
    one.image_token = integer(answers, "image_token_id");
    append_all(answers["image_embeds"], one.image);
    append_all(answers["position_ids"], one.coordinates);
    append_all(answers["logits"], one.published);
  }
  if (answers.HasMember("pixels")) {
    Case& one = result.cases.emplace_back();
    one.rows = patches(answers["pixels"], static_cast<rapidjson::SizeType>(*integer(config, "patch_size")));
    append_all(answers["logits"], one.published);
  }
  return result;
}

}  // namespace posenc::test
