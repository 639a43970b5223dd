// What diagnose() takes and refuses, and how it reports: the arithmetic is judged by confusion_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "base/formatted.h"
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

// Of one sequence in a dtype, of the port of a plan that `spoil` changes.
template <typename Spoil>
Diagnosis diagnosed(const std::string& name, DType dtype, std::int64_t start, Spoil spoil) {
  const auto plans = ported_plans();
  PortedPlan plan = *std::ranges::find(plans, name, &PortedPlan::name);
  plan.port.position = [start](std::size_t, std::size_t, std::size_t t, std::size_t) {
    return static_cast<double>(start) + static_cast<double>(t);
  };
  spoil(plan.port);
  std::mt19937_64 random(7);
  const Tensor before = random_tensor({1, 24, 4, plan.channels}, dtype, random);
  const Bytes x = bytes_of(before);
  const Bytes y = bytes_of(rotated(plan.port, before));
  DiagnoseArgs args{.before = x.view, .after = y.view, .rotate = &plan.rotate, .plan = &plan.plan, .start = start};
  args.length = plan.plan.length;
  return diagnose(args);
}

std::string found_words(const Diagnosis& d) {
  std::string out;
  for (const PortFinding& f : d.findings) out += std::string(name(f.fact)) + ": " + f.found + "\n";
  return out;
}

// One head in many is little of the whole: all heads together fit the plan.
TEST(diagnose, names_heads_that_come_out_longer) {
  const PortedPlan plan = ported_plans().front();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::size_t heads : {2U, 12U}) {
      for (const double factor : {1.0, 0.9, 1.02}) {
        std::mt19937_64 random(11);
        const Tensor before = random_tensor({1, 24, heads, plan.channels}, dtype, random);
        Tensor after = rotated(plan.port, before);
        for (std::size_t t = 0; t < 24; ++t) {
          for (std::size_t c = 0; c < plan.channels; ++c) after.at(0, 1, t, c) *= factor;
        }
        round_all(after);
        const Bytes x = bytes_of(before);
        const Bytes y = bytes_of(after);
        const Diagnosis d = diagnose({.before = x.view, .after = y.view, .rotate = &plan.rotate, .plan = &plan.plan});
        const std::string expected =
            factor == 1.0 ? "" : "attention_factor: " + formatted("{:.4g}", factor) + " times the plan's in heads 1\n";
        std::string found = found_words(d);
        // What it was multiplied by is known to three digits in sixteen bits.
        if (dtype != DType::f32 && found.starts_with("attention_factor: ")) {
          const double measured = std::stod(found.substr(18));
          EXPECT_NEAR(measured, factor, 0.003) << describe(d);
          found = "attention_factor: " + formatted("{:.4g}", factor) + found.substr(found.find(" times"));
        }
        EXPECT_EQ(found, expected) << heads << " heads, times " << factor << "\n" << describe(d);
      }
    }
  }
}

TEST(diagnose, says_at_which_token_padding_ends) {
  for (const int pads : {1, 2, 5, 9}) {
    for (const double at : {0.0, 1.0}) {
      // One token at 1 and the next at 0 is no padding yet.
      if (at == 1 && pads == 1) continue;
      const Diagnosis d = diagnosed("llama-2", DType::f32, 0, [&](Port& port) {
        port.position = [=](std::size_t, std::size_t, std::size_t t, std::size_t) {
          return static_cast<int>(t) < pads ? at : static_cast<double>(t) - pads;
        };
      });
      EXPECT_NE(found_words(d).find("the first real token, " + std::to_string(pads) + " of"), std::string::npos)
          << pads << " at " << at << "\n"
          << describe(d);
    }
  }
}

TEST(diagnose, blames_no_arithmetic_for_digits_of_a_fitted_base) {
  for (const double base : {123456.0, 237111.0, 87654.3}) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const Diagnosis d =
          diagnosed("gpt-neox", dtype, 500, [&](Port& port) { port.inv_freq = plain_frequencies(base, 24); });
      EXPECT_TRUE(found_words(d).starts_with("base: ")) << describe(d);
      EXPECT_EQ(d.findings.size(), 1U) << base << "\n" << describe(d);
    }
  }
}

TEST(diagnose, tells_the_width_of_exponents_from_that_of_the_rotation) {
  const Diagnosis exponents = diagnosed("gpt-neox", DType::f32, 10, [](Port& port) {
    port.inv_freq = plain_frequencies(10000, 96);
    port.inv_freq.resize(12);
  });
  EXPECT_EQ(found_words(exponents), "dim: exponents over 96 channels\n");
  const Diagnosis narrow =
      diagnosed("gpt-neox", DType::f32, 10, [](Port& port) { port.inv_freq = plain_frequencies(10000, 22); });
  EXPECT_EQ(found_words(narrow), "dim: 22\n");
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

// A norm's weights times a number are the factor on cos and sin times that number: nothing of it is seen.
TEST(diagnose, says_nothing_of_a_factor_beside_weights_of_a_norm) {
  std::int64_t judged = 0;
  for (const PortedPlan& plan : ported_plans()) {
    if (plan.port.factor == 1.0) continue;
    for (const bool before : {true, false}) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        std::mt19937_64 random(31);
        const Tensor x = random_tensor({1, 5, 4, plan.channels}, dtype, random);
        Tensor y = before ? x : rotated(plan.port, x);
        const auto width = static_cast<double>(plan.channels);
        for (std::size_t from = 0; from < y.values.size(); from += plan.channels) {
          double square = 1e-5 * width;
          for (std::size_t c = 0; c < plan.channels; ++c) square += y.values[from + c] * y.values[from + c];
          for (std::size_t c = 0; c < plan.channels; ++c) {
            y.values[from + c] *= (0.5 + static_cast<double>(c % 7) / 4) / std::sqrt(square / width);
          }
        }
        if (before) y = rotated(plan.port, y);
        round_all(y);
        const Bytes from = bytes_of(x);
        const Bytes to = bytes_of(y);
        const Diagnosis d =
            diagnose({.before = from.view, .after = to.view, .rotate = &plan.rotate, .plan = &plan.plan, .start = 0});
        ASSERT_EQ(d.findings.size(), 1U) << plan.name << "\n" << describe(d);
        EXPECT_EQ(d.findings[0].fact, PortFact::norm) << plan.name << "\n" << describe(d);
        const auto factor = std::ranges::find(d.confirmed, PortFact::attention_factor, &PortFinding::fact);
        EXPECT_EQ(factor, d.confirmed.end()) << plan.name;
        ++judged;
      }
    }
  }
  EXPECT_GE(judged, 4);
}

TEST(diagnose, names_positions_of_an_image_that_short_floats_round) {
  std::int64_t named = 0;
  for (PortedPlan plan : ported_plans()) {
    if (plan.axes < 2) continue;
    std::mt19937_64 random(32);
    const std::size_t tokens = 60;
    const Tensor x = random_tensor({1, tokens, 8, plan.channels}, DType::f16, random);
    std::vector<double> places;
    for (std::size_t axis = 0; axis < plan.axes; ++axis) {
      for (std::size_t t = 0; t < tokens; ++t) places.push_back(5001 + plan.coordinate(axis, t));
    }
    // float16 has every fourth number there.
    plan.port.position = [own = plan.coordinate](std::size_t, std::size_t, std::size_t t, std::size_t axis) {
      return 4 * std::nearbyint((5001 + own(axis, t)) / 4);
    };
    Tensor y = rotated(plan.port, x);
    round_all(y);
    const Bytes from = bytes_of(x);
    const Bytes to = bytes_of(y);
    const Diagnosis d = diagnose({.before = from.view, .after = to.view, .rotate = &plan.rotate, .positions = places});
    ASSERT_FALSE(d.findings.empty()) << plan.name << "\n" << describe(d);
    EXPECT_EQ(d.findings[0].found, "float16 positions") << plan.name << "\n" << describe(d);
    ++named;
  }
  EXPECT_GE(named, 2);
}

// What is rounded to either of two neighbours is so alike in all tokens of one place: noise is no arithmetic.
TEST(diagnose, takes_no_noise_for_rounded_angles_of_one_position) {
  for (PortedPlan plan : ported_plans()) {
    if (plan.coordinate) continue;
    std::mt19937_64 random(33);
    const Tensor x = random_tensor({1, 200, 4, plan.channels}, DType::f32, random);
    plan.port.position = [](std::size_t, std::size_t, std::size_t, std::size_t) { return 3.0; };
    Tensor y = rotated(plan.port, x);
    add_noise(y, 0.01, random);
    const Bytes from = bytes_of(x);
    const Bytes to = bytes_of(y);
    const Diagnosis d =
        diagnose({.before = from.view, .after = to.view, .rotate = &plan.rotate, .plan = &plan.plan, .start = 0});
    EXPECT_EQ(d.verdict, PortVerdict::differs) << plan.name << "\n" << describe(d);
    const auto precision = std::ranges::find(d.findings, PortFact::precision, &PortFinding::fact);
    EXPECT_EQ(precision, d.findings.end()) << plan.name << "\n" << describe(d);
  }
}

// Far from 0, float32 angles differ from float64's by more than the table's rounding.
TEST(diagnose, names_a_short_table_of_angles_in_float64) {
  const PortedPlan plan = ported_plans().front();
  for (const auto& [steps, found] : {std::pair{PortSteps::float16_table_exact, "float16 table"},
                                     {PortSteps::bfloat16_table_exact, "bfloat16 table"}}) {
    Port port = plan.port;
    port.steps = steps;
    port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) {
      return 20000.0 + static_cast<double>(t);
    };
    std::mt19937_64 random(34);
    const Tensor x = random_tensor({1, 64, 8, plan.channels}, DType::f32, random);
    const Bytes from = bytes_of(x);
    const Bytes to = bytes_of(rotated(port, x));
    const Diagnosis d =
        diagnose({.before = from.view, .after = to.view, .rotate = &plan.rotate, .plan = &plan.plan, .start = 20000});
    ASSERT_EQ(d.findings.size(), 1U) << found << "\n" << describe(d);
    EXPECT_EQ(d.findings[0].fact, PortFact::precision) << describe(d);
    EXPECT_EQ(d.findings[0].found, found) << describe(d);
  }
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
