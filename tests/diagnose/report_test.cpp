// What diagnose() takes and refuses, and how it reports: the arithmetic is judged by confusion_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "diagnose/faults.h"
#include "posenc/error.h"

namespace posenc::test {
namespace {

struct Ported {
  PortedPlan plan = ported_plans().front();
  Tensor before;
  Tensor after;

  explicit Ported(std::size_t tokens = 24, std::size_t heads = 3, std::size_t sequences = 1) {
    std::mt19937_64 random(7);
    before = random_tensor({sequences, tokens, heads, plan.channels}, DType::f32, random);
    after = rotated(plan.port, before);
  }
};

std::string error_of(const DiagnoseArgs& args) {
  try {
    (void)diagnose(args);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(diagnose, names_where_an_element_is_not_finite) {
  Ported ported;
  ported.after.at(0, 2, 5, 17) = std::numeric_limits<double>::infinity();
  const Bytes x = bytes_of(ported.before);
  const Bytes y = bytes_of(ported.after);
  EXPECT_EQ(error_of({.before = x.view, .after = y.view}),
            "[diagnose] after must be finite but is inf at sequence 0, token 5, head 2, channel 17");
}

TEST(diagnose, refuses_what_does_not_fit) {
  const Ported ported;
  const Bytes x = bytes_of(ported.before);
  ConstTensorView narrow = x.view;
  narrow.shape[3] = 64;
  EXPECT_NE(error_of({.before = x.view, .after = narrow}).find("after.shape"), std::string::npos);
  EXPECT_NE(error_of({.before = narrow, .after = narrow, .rotate = &ported.plan.rotate}).find("head_dim, 128"),
            std::string::npos);
  EXPECT_NE(error_of({.before = {}, .after = {}}).find("before.rank"), std::string::npos);
  const std::vector<double> three(3, 0.0);
  EXPECT_NE(error_of({.before = x.view, .after = x.view, .positions = three}).find("24 entries"), std::string::npos);
  EXPECT_NE(error_of({.before = x.view, .after = x.view, .start = 0, .positions = three}).find("start"),
            std::string::npos);
  EXPECT_NE(error_of({.before = x.view, .after = x.view, .length = 0}).find("length"), std::string::npos);
}

TEST(diagnose, calls_no_right_port_in_float64_wrong) {
  // A factor on cos and sin rounds lengths, in some pairs and not in others.
  for (PortedPlan plan : ported_plans()) {
    if (plan.coordinate) continue;
    for (const std::size_t heads : {1U, 2U}) {
      for (const double start : {0.0, 20000.0}) {
        // Its list changes there.
        if (start > 0 && std::holds_alternative<LongRopeScaling>(rope(plan.rotate).scaling)) continue;
        std::mt19937_64 random(heads);
        plan.port.position = [start](std::size_t, std::size_t, std::size_t t, std::size_t) {
          return start + static_cast<double>(t);
        };
        const Tensor before = random_tensor({1, 200, heads, plan.channels}, DType::f64, random);
        const Bytes x = bytes_of(before);
        const Bytes y = bytes_of(rotated(plan.port, before));
        const Diagnosis d = diagnose({.before = x.view,
                                      .after = y.view,
                                      .rotate = &plan.rotate,
                                      .plan = &plan.plan,
                                      .start = static_cast<std::int64_t>(start)});
        EXPECT_NE(d.verdict, PortVerdict::differs) << plan.name << ", " << heads << " heads\n" << describe(d);
      }
    }
  }
}

TEST(diagnose, takes_no_part_of_a_tensor_for_noise) {
  for (const double share : {0.1, 0.4}) {
    Ported ported;
    for (double* y = ported.after.values.data() + ported.after.values.size() - 1; y > ported.after.values.data(); --y) {
      *y += share * y[-1];
    }
    round_all(ported.after);
    const Bytes x = bytes_of(ported.before);
    const Bytes y = bytes_of(ported.after);
    const Diagnosis d = diagnose(
        {.before = x.view, .after = y.view, .rotate = &ported.plan.rotate, .plan = &ported.plan.plan, .start = 0});
    EXPECT_NE(d.verdict, PortVerdict::as_the_plan) << describe(d);
    EXPECT_GT(d.unexplained, 0.05);
  }
}

TEST(diagnose, names_a_rotation_the_other_way_from_another_position) {
  PortedPlan plan = ported_plans().front();
  std::mt19937_64 random(3);
  const Tensor before = random_tensor({1, 64, 1, plan.channels}, DType::f64, random);
  plan.port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) {
    return 20001.0 + static_cast<double>(t);
  };
  plan.port.direction = -1;
  const Bytes x = bytes_of(before);
  const Bytes y = bytes_of(rotated(plan.port, before));
  const Diagnosis d =
      diagnose({.before = x.view, .after = y.view, .rotate = &plan.rotate, .plan = &plan.plan, .start = 20000});
  std::vector<PortFact> facts;
  for (const PortFinding& one : d.findings) facts.push_back(one.fact);
  EXPECT_EQ(facts, (std::vector{PortFact::direction, PortFact::offset})) << describe(d);
}

TEST(diagnose, sees_that_tokens_and_heads_were_exchanged) {
  const Ported ported;
  const Bytes x = bytes_of(ported.before);
  const Bytes y = bytes_of(ported.after);
  // As somebody's transpose has it: the same memory under other axes.
  const ConstTensorView exchanged = transposed(y.view, 1, 2);
  const Diagnosis d = diagnose({.before = x.view, .after = exchanged, .rotate = &ported.plan.rotate, .start = 0});
  ASSERT_EQ(d.verdict, PortVerdict::differs);
  EXPECT_EQ(d.findings.front().fact, PortFact::layout);
}

TEST(diagnose, takes_positions_of_each_sequence) {
  const Ported ported(10, 2, 2);
  const Bytes x = bytes_of(ported.before);
  const Bytes y = bytes_of(ported.after);
  std::vector<double> positions(20);
  for (std::size_t i = 0; i < 20; ++i) positions[i] = static_cast<double>(i % 10);
  const auto diagnosed = [&] {
    return diagnose({.before = x.view, .after = y.view, .rotate = &ported.plan.rotate, .positions = positions});
  };
  EXPECT_EQ(diagnosed().verdict, PortVerdict::as_the_plan);
  for (std::size_t i = 10; i < 20; ++i) positions[i] += 3;
  EXPECT_EQ(diagnosed().verdict, PortVerdict::differs);
}

TEST(diagnose, cannot_tell_from_nothing) {
  const Ported ported;
  const Tensor none{{1, 4, 2, 128}, DType::f32, std::vector<double>(std::size_t{4} * 2 * 128, 0.0)};
  const Bytes zero = bytes_of(none);
  Diagnosis d = diagnose({.before = zero.view, .after = zero.view, .rotate = &ported.plan.rotate, .start = 0});
  EXPECT_EQ(d.verdict, PortVerdict::cannot_tell);
  EXPECT_FALSE(d.dump.empty());
  ConstTensorView empty = zero.view;
  empty.shape[2] = 0;
  d = diagnose({.before = empty, .after = empty});
  EXPECT_EQ(d.verdict, PortVerdict::cannot_tell);
}

TEST(diagnose, recovers_without_a_plan) {
  const Ported ported;
  const Bytes x = bytes_of(ported.before);
  const Bytes y = bytes_of(ported.after);
  const Diagnosis d = diagnose({.before = x.view, .after = y.view});
  ASSERT_EQ(d.verdict, PortVerdict::recovered);
  const auto base = std::ranges::find(d.findings, PortFact::base, &PortFinding::fact);
  ASSERT_NE(base, d.findings.end());
  EXPECT_EQ(base->found, "10000");
  EXPECT_EQ(base->expected, "");
}

TEST(diagnose, text_is_ascii_of_80_columns_and_starts_with_the_verdict) {
  Ported ported;
  ported.plan.port.interleaved = true;
  const Bytes x = bytes_of(ported.before);
  const Bytes y = bytes_of(rotated(ported.plan.port, ported.before));
  const Diagnosis d = diagnose({.before = x.view, .after = y.view, .rotate = &ported.plan.rotate, .start = 0});
  const std::string text = describe(d);
  EXPECT_TRUE(text.starts_with("differs: pairing\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; })) << line;
  }
  EXPECT_NE(to_json(d).find("\"fact\": \"pairing\""), std::string::npos);
}

}  // namespace
}  // namespace posenc::test
