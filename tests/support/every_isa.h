// The instruction sets that a suite runs on, printed: what a machine does not have is not tested, and that must show.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "posenc/info.h"

namespace posenc::test {

inline std::vector<Isa> every_isa(const std::string& suite) {
  std::string names;
  std::vector<Isa> isas;
  for (const Isa isa : supported_isas()) {
    isas.push_back(isa);
    names += " " + std::string(name(isa));
  }
  std::printf("[  isas    ] %s:%s\n", suite.c_str(), names.c_str());
  EXPECT_FALSE(isas.empty()) << suite << " runs on no instruction set";
  return isas;
}

// Those of them that have products of bfloat16, which may be none.
inline std::vector<Isa> isas_with_pairs(const std::string& suite) {
  std::vector<Isa> isas = supported_isas();
  std::erase_if(isas, [](Isa isa) { return isa != Isa::avx512_bf16 && isa != Isa::amx; });
  std::string names;
  for (const Isa isa : isas) names += " " + std::string(name(isa));
  std::printf("[  isas    ] %s:%s\n", suite.c_str(), isas.empty() ? " none here" : names.c_str());
  return isas;
}

}  // namespace posenc::test
