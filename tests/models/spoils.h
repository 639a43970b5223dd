// A model with one fact about positions made wrong, for each fact that its plan holds: a test that cannot tell it from
// the right one proves nothing.
#pragma once

#include <string_view>
#include <vector>

#include "models/model.h"

namespace posenc::test {

struct Spoil {
  std::string_view name;
  Model model;
  Shift shift{};
};

std::vector<Spoil> spoils(const Model& model);

// Whether any layer rotates q and k, and whether a query is scaled by where it stands.
bool rotates(const Model& model);
bool scales_queries(const Model& model);

}  // namespace posenc::test
