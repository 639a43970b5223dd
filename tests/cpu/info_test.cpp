#include "posenc/info.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "cpu/machine/dispatch.h"
#include "posenc/version.h"
#include "support/throws.h"

namespace posenc::test::info_test {
namespace {

TEST(Info, SaysWhatThisIs) {
  const Info found = info();
  EXPECT_EQ(found.version, std::to_string(POSENC_VERSION_MAJOR) + "." + std::to_string(POSENC_VERSION_MINOR) + "." +
                               std::to_string(POSENC_VERSION_PATCH));
  EXPECT_NE(found.compiler.find(' '), std::string::npos) << found.compiler;
  EXPECT_EQ(found.isas, supported_isas());
  EXPECT_EQ(found.selected, selected_isa());
  for (const std::string& feature : found.cpu_features) EXPECT_FALSE(feature.empty());
}

TEST(Isa, ScalarIsAlwaysThereAndFirst) {
  const std::vector<Isa> found = supported_isas();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), Isa::scalar);
  EXPECT_EQ(std::ranges::count(found, Isa::automatic), 0);
  for (const Isa isa : found) EXPECT_EQ(std::ranges::count(found, isa), 1) << name(isa);
  EXPECT_EQ(cpu::choose_isa("", cpu::runnable_kernels()), found.back());  // their order is the machine's own
}

TEST(Isa, Names) {
  EXPECT_EQ(name(Isa::automatic), "automatic");
  EXPECT_EQ(name(Isa::scalar), "scalar");
  EXPECT_EQ(name(Isa::avx2), "avx2");
  EXPECT_EQ(name(Isa::avx512), "avx512");
  EXPECT_EQ(name(Isa::neon), "neon");
  EXPECT_EQ(name(Isa::avx512_bf16), "avx512_bf16");
  EXPECT_EQ(name(Isa::amx), "amx");
}

// A set of kernels is offered only with every feature that it was compiled for.
TEST(Isa, FollowsTheFeatures) {
  const Info found = info();
  const auto has = [&](const char* feature) { return std::ranges::count(found.cpu_features, feature) == 1; };
  const auto offers = [&](Isa isa) { return std::ranges::count(found.isas, isa) == 1; };
  EXPECT_EQ(offers(Isa::avx2), has("avx2") && has("fma"));
  EXPECT_EQ(offers(Isa::avx512),
            offers(Isa::avx2) && has("avx512f") && has("avx512dq") && has("avx512vl") && has("avx512bw"));
  EXPECT_EQ(offers(Isa::neon), has("asimd"));
  EXPECT_EQ(offers(Isa::avx512_bf16), offers(Isa::avx512) && has("avx512_bf16"));
  const bool has_tiles = offers(Isa::avx512) && has("amx_tile") && has("amx_bf16");
  EXPECT_TRUE(has_tiles || !offers(Isa::amx));  // which must be granted, too
}

TEST(ChooseIsa, ByName) {
  const std::vector<cpu::IsaKernels> two{{Isa::scalar, {nullptr}}, {Isa::avx2, {nullptr}}};
  EXPECT_EQ(cpu::choose_isa("", two), Isa::avx2);
  EXPECT_EQ(cpu::choose_isa("automatic", two), Isa::avx2);
  EXPECT_EQ(cpu::choose_isa("scalar", two), Isa::scalar);
  EXPECT_EQ(cpu::choose_isa("avx2", two), Isa::avx2);
  EXPECT_ERROR((void)cpu::choose_isa("avx512", two), "[POSENC_ISA] must be one of scalar, avx2 but is avx512");
  EXPECT_ERROR((void)cpu::choose_isa("AVX2", two), "[POSENC_ISA] must be one of scalar, avx2 but is AVX2");
  EXPECT_ERROR((void)cpu::choose_isa("\x1b[2J", two), "[POSENC_ISA] must be one of scalar, avx2 but is \\x1b[2J");
}

// Whatever POSENC_ISA says in this process; tests/cpu/CMakeLists.txt runs it with each value.
TEST(Environment, NamesTheIsa) {
  const char* given = std::getenv("POSENC_ISA");
  const std::string wanted = given == nullptr ? "" : given;
  const std::vector<Isa> isas = supported_isas();
  const auto named = std::ranges::find(isas, wanted, [](Isa isa) { return name(isa); });
  if (wanted.empty() || wanted == "automatic") {
    EXPECT_EQ(selected_isa(), isas.back());
  } else if (named != isas.end()) {
    EXPECT_EQ(selected_isa(), *named);
    EXPECT_EQ(info().selected, *named);
  } else {
    EXPECT_THROW(selected_isa(), Error);
    EXPECT_THROW(info(), Error);
    EXPECT_THROW(selected_isa(), Error) << "the second time too";
  }
}

}  // namespace
}  // namespace posenc::test::info_test
