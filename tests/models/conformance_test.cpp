// Models as somebody published them: posenc's plan of their config, with reference::attend and the reference's input
// stage, gives the published numbers. A model with any fact about positions made wrong does not.
#include "models/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "models/spoils.h"
#include "support/every_isa.h"
#include "support/test_data.h"
#include "support/tolerances.h"

namespace posenc::test {
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

TEST_P(Conforms, ToThePublishedNumbersAndNothingElse) {
  const Conformance result = conformance(GetParam(), published_);
  ErrorRatio ratio(name());
  ratio.add(result.difference, result.bound, "reference");
  ratio.expect();
  for (const auto& [spoil, difference] : result.spoiled) {
    const auto invisible = std::ranges::find(GetParam().invisible, spoil, &Invisible::spoil);
    const bool is_seen = invisible == GetParam().invisible.end();
    std::printf("[  spoiled ] %s, %s: %.2g times the bound%s\n", name().c_str(), std::string(spoil).c_str(),
                difference / result.bound, is_seen ? "" : ", rightly");
    if (is_seen) {
      EXPECT_GT(difference, kSpoiledOverBound * result.bound) << spoil;
    } else {
      EXPECT_LE(difference, kSpoiledOverBound * result.bound) << spoil << " can be seen: " << invisible->reason;
    }
  }
}

// The same by the kernels' rotation, and wherever the text begins if only distances count.
TEST_P(Conforms, OnEveryInstructionSet) {
  if (!turns(published_.model)) return;
  const Numbers theirs = published_answers(published_);
  Roundings arithmetic = GetParam().arithmetic;
  arithmetic.angles = 24;
  const double bound = rounding_bound(published_, arithmetic);
  ErrorRatio ratio(name() + " by kernels");
  for (const Isa isa : every_isa(name())) {
    for (const std::int64_t start : {0, 1000, -7}) {
      if (start != 0 && scales_queries(published_.model)) continue;
      const Setting setting{.way = isa, .shift = {.queries = start, .keys = start}};
      ratio.add(rms_difference(answers(published_, published_.model, setting), theirs), bound, posenc::name(isa));
    }
  }
  ratio.expect();
}

constexpr auto kNameOf = [](const auto& tested) { return std::string(tested.param.name); };
INSTANTIATE_TEST_SUITE_P(Encoders, Conforms, testing::ValuesIn(encoders()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Decoders, Conforms, testing::ValuesIn(decoders()), kNameOf);

}  // namespace
}  // namespace posenc::test
