// diagnose_attention(): every fault of attention_port.cpp, of every layer that it applies to, from what may be dumped:
// named right, or "cannot tell". Never named wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "base/formatted.h"
#include "diagnose/attention_port.h"
#include "diagnose/port.h"
#include "posenc/error.h"

namespace posenc::test {
namespace {

struct Dumped {
  const char* name;
  bool scores, weights, out;
};
constexpr std::array<Dumped, 5> kDumped{Dumped{"out", false, false, true},
                                        {"scores and out", true, false, true},
                                        {"weights and out", false, true, true},
                                        {"all", true, true, true},
                                        {"scores", true, false, false}};

struct CallSetting {
  DType dtype;
  std::size_t queries, keys;
};
constexpr std::array<CallSetting, 4> kCallSettings{
    CallSetting{DType::f32, 40, 40}, {DType::bf16, 40, 40}, {DType::f64, 5, 33}, {DType::f32, 1, 30}};

// In double; the library sees what rounding they have had.
ConstTensorView of_tokens(const std::vector<double>& x, std::size_t tokens, std::size_t heads) {
  return tensor(x.data(), {static_cast<std::int64_t>(tokens), static_cast<std::int64_t>(heads),
                           static_cast<std::int64_t>(x.size() / tokens / heads)});
}
ConstTensorView of_scores(const std::vector<double>& x, const AttentionNumbers& n) {
  return tensor(x.data(), {static_cast<std::int64_t>(x.size() / n.queries / n.keys),
                           static_cast<std::int64_t>(n.queries), static_cast<std::int64_t>(n.keys)});
}

AttentionDumpArgs args_of(const PortedLayer& of, const AttentionNumbers& n, const Dumped& dumped,
                          const std::vector<double>& sinks) {
  AttentionDumpArgs args{.q = of_tokens(n.q, n.queries, of.port.heads),
                         .k = of_tokens(n.k, n.keys, of.port.kv_heads),
                         .v = of_tokens(n.v, n.keys, of.port.kv_heads),
                         .layer = &of.layer};
  if (dumped.scores) args.scores = of_scores(n.scores, n);
  if (dumped.weights) args.weights = of_scores(n.weights, n);
  if (dumped.out) args.out = of_tokens(n.out, n.queries, of.port.heads);
  if (!of.table.empty()) args.learned.score.push_back(T5Weights{tensor(of.table.data(), {16, 4})});
  if (!sinks.empty()) args.learned.sinks = tensor(sinks.data(), {static_cast<std::int64_t>(sinks.size())});
  return args;
}

// Whether what was dumped is the right port's, up to rounding.
bool is_lost(const AttentionNumbers& n, const AttentionNumbers& right, const Dumped& dumped, DType dtype) {
  const double unit = dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f32 ? 0x1p-24 : 0x1p-50;
  const auto same = [&](const std::vector<double>& x, const std::vector<double>& y) {
    double change = 0;
    double energy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i]) continue;
      change += std::isfinite(x[i] - y[i]) ? (x[i] - y[i]) * (x[i] - y[i]) : 1e300;
    }
    for (const double a : y) energy += std::isfinite(a) ? a * a : 0;
    return change < 16 * unit * unit * energy;
  };
  return (!dumped.scores || same(n.scores, right.scores)) && (!dumped.weights || same(n.weights, right.weights)) &&
         (!dumped.out || same(n.out, right.out));
}

enum class Told { named, cannot_tell, nothing_known, wrong };

Told told(const AttentionFault& fault, const AttentionDiagnosis& d) {
  if (d.verdict == PortVerdict::cannot_tell) return Told::cannot_tell;
  if (fault.right) return d.verdict == PortVerdict::as_the_plan ? Told::named : Told::wrong;
  if (d.verdict != PortVerdict::differs) return Told::wrong;
  const bool open = std::ranges::any_of(d.findings, [](const PortFinding& f) {
    return f.found.find(" known ") != std::string::npos || f.found.find("do not make") != std::string::npos;
  });
  if (fault.facts.empty()) return open ? Told::named : Told::wrong;
  std::map<PortFact, double> sure;
  for (const PortFinding& f : d.findings) sure[f.fact] += f.confidence;
  const auto likely = std::ranges::max_element(sure, {}, [](const auto& of) { return of.second; });
  if (!open && std::ranges::any_of(fault.facts, [&](PortFact f) { return sure.contains(f); })) return Told::named;
  return open || likely->second < 0.5 ? Told::nothing_known : Told::wrong;
}

// Values of a mean far above their spread, as a bias makes them, and what float32 sums of them are, key by key.
void give_values_a_mean(AttentionNumbers& n, const AttentionPort& port, double spread) {
  const std::size_t channels = n.v.size() / n.keys / port.kv_heads;
  for (std::size_t i = 0; i < n.v.size(); ++i) {
    const auto c = static_cast<double>(i % (channels * port.kv_heads));
    n.v[i] = rounded_to(DType::f32, 1.5 * std::sin(1 + c) + spread * n.v[i]);
  }
  const std::size_t group = port.heads / port.kv_heads;
  for (std::size_t h = 0; h < port.heads; ++h) {
    for (std::size_t i = 0; i < n.queries; ++i) {
      for (std::size_t c = 0; c < channels; ++c) {
        double sum = 0.0;
        for (std::size_t j = 0; j < n.keys; ++j) {
          const double v = n.v[(j * port.kv_heads + h / group) * channels + c];
          sum = rounded_to(DType::f32, sum + n.weights[(h * n.queries + i) * n.keys + j] * v);
        }
        n.out[(i * port.heads + h) * channels + c] = sum;
      }
    }
  }
}

// What is said of the dump is wrong, or the port does not rotate: both are told, and not taken for a fault of values.
TEST(DiagnoseAttention, SaysOnWhichSideOfTheRotationQueriesAndKeysWereDumped) {
  std::int64_t told = 0;
  for (const PortedLayer& of : ported_layers()) {
    if (of.layer.rotate.empty()) continue;
    for (const Dumped& dumped : kDumped) {
      const AttentionNumbers n = numbers_of(of.port, 40, 40, DType::f32, 7);
      AttentionDumpArgs args = args_of(of, n, dumped, of.port.sinks);
      ASSERT_TRUE(args.rotated);
      args.rotated = false;
      const AttentionDiagnosis d = diagnose_attention(args);
      EXPECT_EQ(d.verdict, PortVerdict::differs) << of.name;
      const auto sure = std::ranges::max_element(d.findings, {}, &PortFinding::confidence);
      ASSERT_NE(sure, d.findings.end()) << of.name;
      EXPECT_EQ(sure->fact, PortFact::rotation) << of.name << ": " << sure->found;
      ++told;
    }
  }
  EXPECT_GE(told, 5);
}

// Roundings of scores act on how far values are from the output: where they hardly differ, a wrong scale leaves little
// of the output, and far more than roundings do.
TEST(DiagnoseAttention, SeesAWrongScaleThroughValuesThatHardlyDiffer) {
  const std::vector<PortedLayer> layers = ported_layers();
  const auto at = std::ranges::find_if(layers, [](const PortedLayer& of) { return of.layer.score.empty(); });
  ASSERT_NE(at, layers.end());
  for (const std::size_t tokens : {std::size_t{40}, std::size_t{150}}) {
    for (const double spread : {0.01, 0.001}) {
      for (const double times : {1.0, 1.02}) {
        PortedLayer of = *at;
        of.layer.softmax_scale *= 4;
        AttentionPort port = of.port;
        port.scale *= 4 * times;
        AttentionNumbers n = numbers_of(port, tokens, tokens, DType::f32, 21);
        give_values_a_mean(n, port, spread);
        const AttentionDiagnosis d = diagnose_attention(args_of(of, n, kDumped[0], {}));
        const std::string words =
            formatted("{} tokens, spread {}, scale times {}\n{}", tokens, spread, times, describe(d));
        EXPECT_EQ(d.verdict, times == 1.0 ? PortVerdict::as_the_plan : PortVerdict::differs) << words;
      }
    }
  }
}

class AttentionConfusion : public testing::TestWithParam<std::size_t> {};

TEST_P(AttentionConfusion, is_named_right_or_not_at_all) {
  const AttentionFault fault = attention_faults().at(GetParam());
  std::map<Told, int> counts;
  std::uint64_t seed = GetParam() * 1000;
  const bool all = std::getenv("POSENC_ALL_FAULTS") != nullptr;
  for (const PortedLayer& of : ported_layers()) {
    for (const CallSetting& setting : kCallSettings) {
      AttentionPort port = of.port;
      if (fault.of_fine_dumps && setting.dtype == DType::bf16) continue;
      if (!fault.spoil(port, of, setting.queries, setting.keys)) continue;
      ++seed;
      const AttentionNumbers n = numbers_of(port, setting.queries, setting.keys, setting.dtype, seed);
      const AttentionNumbers right = numbers_of(of.port, setting.queries, setting.keys, setting.dtype, seed);
      for (const Dumped& dumped : kDumped) {
        ++seed;
        if (!all && (seed + GetParam()) % 4 != 0) continue;
        // Scores alone do not say whether they were but dumped in their format.
        if (port.inside && dumped.scores && !dumped.out && fault.facts.front() == PortFact::precision) continue;
        if (!fault.right && is_lost(n, right, dumped, setting.dtype)) continue;
        const AttentionDiagnosis d = diagnose_attention(args_of(of, n, dumped, of.port.sinks));
        const Told found = told(fault, d);
        ++counts[found];
        const std::string words = fault.name + ", " + of.name + ", " + std::string(name(setting.dtype)) + ", " +
                                  std::to_string(setting.queries) + " queries of " + std::to_string(setting.keys) +
                                  " keys, " + dumped.name;
        EXPECT_NE(found, Told::wrong) << words << "\n" << describe(d);
        if (std::getenv("POSENC_SHOW") != nullptr && found != Told::named) std::cout << words << "\n" << describe(d);
      }
    }
  }
  std::printf("%-48s %6d %6d %6d %6d\n", fault.name.c_str(), counts[Told::named], counts[Told::cannot_tell],
              counts[Told::nothing_known], counts[Told::wrong]);
}

INSTANTIATE_TEST_SUITE_P(faults, AttentionConfusion, testing::Range<std::size_t>(0, attention_faults().size()),
                         [](const auto& at) {
                           std::string name = attention_faults().at(at.param).name;
                           std::erase_if(name, [](char c) { return c == ',' || c == ':' || c == '\''; });
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

// What the table counts as "nothing known" fails no case of it: of one layer in float32 all of these are named.
TEST(diagnose_attention, names_formats_inside_and_what_it_measures) {
  const PortedLayer of = ported_layers().at(0);
  std::vector<AttentionFault> faults = inner_attention();
  for (AttentionFault& more : measured_attention()) faults.push_back(std::move(more));
  const std::map<std::string, std::string> words{
      {"inside: products in TF32", "queries and keys, weights, values in TF32"},
      {"inside: products in bfloat16", "queries and keys, weights, values in bfloat16"},
      {"inside: scores in bfloat16", "scores in bfloat16"},
      {"inside: every step of scores in float16", "scores in float16"},
      {"inside: all in bfloat16", "queries and keys, scores, weights, values in bfloat16"},
      {"KV heads one group further", "of heads 0, 1, ..: 1, 1, 1, 1, 0, 0, 0, 0"},
      {"values rolled by one token", "rolled by one: those of the token before, the first has the last one's"},
      {"the output not transposed", "[heads, tokens, channels] read as [tokens, heads, channels]"},
      {"values half as large", "multiplied by 0.5"},
      {"sequences of 12 keys packed", "sequences of their own start at 0, 12, 24, 36: keys before are hidden"},
      {"a window of 9 and the first 4 keys", "9 tokens, and keys before 4 always"}};
  for (const AttentionFault& fault : faults) {
    AttentionPort port = of.port;
    ASSERT_TRUE(fault.spoil(port, of, 40, 40)) << fault.name;
    const AttentionNumbers n = numbers_of(port, 40, 40, DType::f32, 11);
    const bool of_mask = fault.facts.front() == PortFact::mask || fault.facts.front() == PortFact::window;
    const AttentionDiagnosis d = diagnose_attention(args_of(of, n, kDumped[of_mask ? 2 : 0], {}));
    EXPECT_EQ(told(fault, d), Told::named) << fault.name << "\n" << describe(d);
    const auto expected = words.find(fault.name);
    if (expected == words.end()) continue;
    EXPECT_TRUE(std::ranges::any_of(d.findings, [&](const PortFinding& f) { return f.found == expected->second; }))
        << fault.name << "\n"
        << describe(d);
  }
}

// Of 12 heads four slopes are no powers of two. slope j is the same to a softmax as -slope (i - j), until it is
// rounded.
TEST(diagnose_attention, names_alibi_that_was_made_in_bfloat16) {
  PortedLayer of = ported_layers().at(3);
  of.layer.heads = of.layer.kv_heads = 12;
  of.layer.score = {Alibi{.heads = 12}};
  of.port.heads = of.port.kv_heads = 12;
  const auto slope = [](std::size_t h) {
    return std::exp2(h < 8 ? -1.0 - static_cast<double>(h) : 7.5 - static_cast<double>(h));
  };
  for (const bool rounded : {false, true}) {
    AttentionPort port = of.port;
    port.bias = [=](std::size_t h, double, double j) {
      return rounded ? rounded_to(DType::bf16, slope(h) * j) : slope(h) * j;
    };
    const AttentionNumbers n = numbers_of(port, 40, 40, DType::f32, 13);
    for (const Dumped& dumped : kDumped) {
      const AttentionDiagnosis d = diagnose_attention(args_of(of, n, dumped, {}));
      ASSERT_EQ(d.verdict, rounded ? PortVerdict::differs : PortVerdict::as_the_plan) << dumped.name << describe(d);
      if (!rounded) continue;
      EXPECT_EQ(d.findings.front().fact, PortFact::precision) << dumped.name << describe(d);
      EXPECT_EQ(d.findings.front().found, "slopes times places in bfloat16") << dumped.name << describe(d);
    }
  }
}

// Large scores in bfloat16, of which the most that roundings may do is 3 to 20 times what they are likely to.
TEST(diagnose_attention, takes_no_more_than_roundings_are_likely_to_leave_for_the_plan) {
  PortedLayer of = ported_layers().at(0);
  of.layer.softmax_scale *= 4;
  of.port.scale *= 4;
  const auto wobble = [](double x) { return std::fmod(std::fabs(x), 11) / 5 - 1; };
  const std::map<std::string, std::function<void(AttentionPort&)>> ports{
      {"right", [](AttentionPort&) {}},
      {"right, every step rounded", [](AttentionPort& p) { p.rounds_scores = p.rounds_steps = true; }},
      {"a bias of 0.02 of the distance",
       [](AttentionPort& p) { p.bias = [](std::size_t, double i, double j) { return -0.02 * (i - j); }; }},
      {"a number for each key",
       [&](AttentionPort& p) { p.bias = [&](std::size_t, double, double j) { return 0.1 * wobble(7 * j); }; }},
      {"a number for each score", [&](AttentionPort& p) {
         p.bias = [&](std::size_t h, double i, double j) {
           return 0.3 * wobble(7 * i + 5 * j + 3 * static_cast<double>(h));
         };
       }}};
  for (const auto& [name, spoil] : ports) {
    AttentionPort port = of.port;
    spoil(port);
    const AttentionNumbers n = numbers_of(port, 40, 40, DType::bf16, 17);
    for (const std::size_t at : {0, 2}) {
      const AttentionDiagnosis d = diagnose_attention(args_of(of, n, kDumped[at], {}));
      if (name.starts_with("right")) {
        EXPECT_EQ(d.verdict, PortVerdict::as_the_plan) << name << ", " << kDumped[at].name << describe(d);
        continue;
      }
      EXPECT_NE(d.verdict, PortVerdict::as_the_plan) << name << ", " << kDumped[at].name << describe(d);
      EXPECT_TRUE(d.verdict != PortVerdict::cannot_tell || !d.dump.empty()) << name;
    }
  }
}

// Of 12 heads the first 12 slopes of 16: slopes of two other rules leave less than the plan, but more than roundings.
TEST(diagnose_attention, names_nothing_that_leaves_more_than_roundings_are_likely_to) {
  PortedLayer of = ported_layers().at(3);
  of.layer.heads = of.layer.kv_heads = 12;
  of.layer.score = {Alibi{.heads = 12}};
  of.port.heads = of.port.kv_heads = 12;
  AttentionPort port = of.port;
  port.bias = [](std::size_t h, double i, double j) { return -std::exp2(-0.5 * static_cast<double>(h + 1)) * (i - j); };
  const AttentionNumbers n = numbers_of(port, 40, 40, DType::bf16, 19);
  for (const std::size_t at : {0, 2}) {
    const AttentionDiagnosis d = diagnose_attention(args_of(of, n, kDumped[at], {}));
    ASSERT_EQ(d.findings.size(), 1U) << kDumped[at].name << describe(d);
    EXPECT_TRUE(d.findings.front().found.starts_with("others: 0.7")) << kDumped[at].name << describe(d);
  }
}

// Two fitted forms of one number, and a mask that dumped scores show not to be: one is said.
TEST(diagnose_attention, lists_no_rivals_that_the_dump_excludes) {
  const PortedLayer of = ported_layers().at(0);
  const auto found = [&](auto spoil, const Dumped& dumped) {
    AttentionPort port = of.port;
    spoil(port);
    const AttentionNumbers n = numbers_of(port, 40, 40, DType::bf16, 23);
    std::vector<std::string> out;
    for (const PortFinding& f : diagnose_attention(args_of(of, n, dumped, {})).findings) out.push_back(f.found);
    return out;
  };
  const auto halved = found([](AttentionPort& p) { p.scale *= 0.53; }, kDumped[4]);
  ASSERT_EQ(halved.size(), 1U);
  EXPECT_EQ(halved.front().find(" but of "), std::string::npos) << halved.front();
  const auto open = found([](AttentionPort& p) { p.seen = [](double, double) { return true; }; }, kDumped[1]);
  EXPECT_EQ(open, std::vector<std::string>{"none: queries see later keys"});
}

// A fault of as much as roundings do, in two queries alone, is none of them.
TEST(diagnose_attention, tells_a_short_format_from_a_fault_of_two_queries) {
  const PortedLayer of = ported_layers().at(0);
  AttentionPort port = of.port;
  port.bias = [](std::size_t h, double i, double j) {
    return i > 37 ? 0x1p-8 * (std::fmod(7 * i + 5 * j + 3 * static_cast<double>(h), 11) - 5) : 0.0;
  };
  const AttentionNumbers n = numbers_of(port, 40, 40, DType::f32, 12);
  const AttentionDiagnosis d = diagnose_attention(args_of(of, n, kDumped[0], {}));
  EXPECT_EQ(d.verdict, PortVerdict::differs) << describe(d);
  EXPECT_TRUE(std::ranges::none_of(d.findings, [](const auto& f) { return f.fact == PortFact::precision; }))
      << describe(d);
}

TEST(diagnose_attention, names_the_first_stage_that_differs) {
  const PortedLayer of = ported_layers().at(0);
  AttentionPort port = of.port;
  port.v_head = [](std::size_t h) { return h % 2; };
  const AttentionNumbers n = numbers_of(port, 24, 24, DType::f32, 3);
  const AttentionDiagnosis d = diagnose_attention(args_of(of, n, kDumped[3], {}));
  EXPECT_EQ(d.verdict, PortVerdict::differs);
  EXPECT_EQ(d.stage, AttentionStage::out);
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].fact, PortFact::kv_heads);
  EXPECT_TRUE(describe(d).starts_with("differs: kv_heads\n")) << describe(d);
  EXPECT_NE(to_json(d).find("\"stage\": \"out\""), std::string::npos);
}

TEST(diagnose_attention, takes_keys_and_values_that_are_repeated) {
  const PortedLayer of = ported_layers().at(0);
  AttentionNumbers n = numbers_of(of.port, 24, 24, DType::f32, 4);
  for (std::vector<double>* x : {&n.k, &n.v}) {
    std::vector<double> more;
    for (std::size_t row = 0; row < 24; ++row) {
      for (std::size_t h = 0; h < 8; ++h) {
        const auto from = x->begin() + static_cast<std::ptrdiff_t>((row * 2 + h / 4) * 32);
        more.insert(more.end(), from, from + 32);
      }
    }
    *x = std::move(more);
  }
  AttentionDumpArgs args = args_of(of, n, kDumped[3], {});
  args.k = of_tokens(n.k, 24, 8);
  args.v = of_tokens(n.v, 24, 8);
  EXPECT_EQ(diagnose_attention(args).verdict, PortVerdict::as_the_plan);
}

TEST(diagnose_attention, refuses_what_does_not_fit) {
  const PortedLayer of = ported_layers().at(0);
  const AttentionNumbers n = numbers_of(of.port, 4, 6, DType::f32, 5);
  const AttentionDumpArgs right = args_of(of, n, kDumped[3], {});
  const auto error = [&](auto change) {
    AttentionDumpArgs args = right;
    change(args);
    try {
      (void)diagnose_attention(args);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(error([](auto& a) { a.layer = nullptr; }).find("layer"), std::string::npos);
  EXPECT_NE(error([](auto& a) { a.v = {}; }).find("v must be given with out"), std::string::npos);
  EXPECT_NE(error([](auto& a) { a.scores = a.weights = a.out = {}; }).find("scores, weights or out"),
            std::string::npos);
  EXPECT_NE(error([](auto& a) { a.k.shape[0] = 5; }).find("scores"), std::string::npos);
  EXPECT_NE(error([](auto& a) { a.q.shape[1] = 7; }).find("q must have 8 heads"), std::string::npos);
  EXPECT_NE(error([](auto& a) { a.sequence = 1; }).find("sequence"), std::string::npos);
  const std::vector<std::int64_t> order(3, 0);
  EXPECT_NE(error([&](auto& a) { a.k_order = order; }).find("k_order"), std::string::npos);
  EXPECT_NE(error([](auto& a) { std::swap(a.scores, a.weights); }).find("weights must be from 0 to 1"),
            std::string::npos);
}

}  // namespace
}  // namespace posenc::test
