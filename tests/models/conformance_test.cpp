// Models as somebody published them: posenc's plan of their config, with reference::attend and the reference's input
// stage, gives the published numbers. A model with any fact about positions made wrong does not.
#include "models/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "models/spoils.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"
#include "support/model_tolerances.h"
#include "support/test_data.h"

namespace posenc::test::conformance_test {
namespace {

class Conforms : public testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override {
    POSENC_NEED_DATA(weights_of(GetParam()));
    published_ = published(GetParam());
  }
  std::string name() const { return std::string(GetParam().name); }

  Published published_;
};

// By the reference, and by the kernels' rotation, wherever the text begins if only distances count.
TEST_P(Conforms, ToThePublishedNumbersAndNothingElse) {
  if (rotates(published_.model)) every_isa(name());
  const Conformance result = conformance(GetParam(), published_);
  const auto expect_within_bound = [&](const std::string& suite, const Measured& measured) {
    ErrorRatio ratio(suite);
    ratio.add(measured.difference, measured.bound, measured.where);
    ratio.expect();
  };
  expect_within_bound(name(), result.reference);
  if (result.kernels) expect_within_bound(name() + " by kernels", *result.kernels);
  for (const auto& [spoil, difference] : result.spoiled) {
    const auto invisible = std::ranges::find(GetParam().invisible, spoil, &Invisible::spoil);
    const bool is_seen = invisible == GetParam().invisible.end();
    const double bound = result.reference.bound;
    std::printf("[  spoiled ] %s, %s: %.2g times the bound%s\n", name().c_str(), std::string(spoil).c_str(),
                difference / bound, is_seen ? "" : ", rightly");
    if (is_seen) {
      EXPECT_GT(difference, kSpoiledOverBound * bound) << spoil;
    } else {
      EXPECT_LE(difference, kSpoiledOverBound * bound) << spoil << " can be seen: " << invisible->reason;
    }
  }
}

constexpr auto kNameOf = [](const auto& tested) { return std::string(tested.param.name); };
INSTANTIATE_TEST_SUITE_P(Encoders, Conforms, testing::ValuesIn(encoders()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Decoders, Conforms, testing::ValuesIn(decoders()), kNameOf);

}  // namespace
}  // namespace posenc::test::conformance_test
