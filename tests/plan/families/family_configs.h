// A small config of our own for each family, with every key that bears on its positions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace posenc::test {

struct FamilyConfig {
  std::string_view id;  // the family, and where one config is not enough, what is special
  std::string_view text;
};

std::span<const FamilyConfig> rotary_configs();     // family_configs.cpp
std::span<const FamilyConfig> latent_configs();     // latent_configs.cpp
std::span<const FamilyConfig> published_configs();  // published_configs.cpp
std::span<const FamilyConfig> vision_configs();     // vision_configs.cpp
std::vector<FamilyConfig> family_configs();         // all of them
// A failed test, and an empty text, where there is none of that name.
std::string_view family_config(std::string_view id);

}  // namespace posenc::test
