// Documents that are no plans: each names the error's kind, its place, and a fragment of the message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "posenc/plan.h"

namespace posenc::plan_json_malformed_test {
namespace {

using ::testing::HasSubstr;

// A valid plan; each case changes one place of it.
constexpr const char* kPlan = R"({"schema_version": 2, "known": true, "model_type": "m", "family": "f",
"source": {"kind": "preset", "name": "p"}, "trained_length": 64, "length": null,
"stacks": [{"name": "decoder", "input": [{"kind": "learned", "positions": 8, "offset": 0,
  "token_types": null, "embedding_multiplier": 1}], "layers": [
  {"index": 0, "kind": "attention", "heads": 2, "kv_heads": 1, "head_dim": 4, "value_dim": 4, "kv_from": null,
   "compression": null, "softmax_scale": 0.5, "channel_scale": false, "soft_cap": {"cap": 50, "order": "after_bias"},
   "sinks": false, "qk_norm": null,
   "mask": {"kind": "causal", "window": {"past": 7, "future": 0}, "chunk": null, "detail": null},
   "rotate": [{"role": "main", "kind": "rope", "heads": 2, "head_dim": 4, "pairing": "half", "first_channel": 0,
     "dim": 4, "base": 10000, "scaling": {"rule": "linear", "factor": 2}, "attention_factor": 1, "axes": ["t"],
     "axis_of_pair": [0, 0], "inv_freq": [0.5, 0.005]}],
   "regions": null, "score": [{"kind": "alibi", "heads": 2, "max_bias": 8, "symmetric": false, "scaled": false,
     "form": "relative"}],
   "value": {"kind": "rotated", "inverse_on_output": false}, "query_scale": {"kind": "logn", "seq_length": 64}},
  {"index": 1, "kind": "none"}]}],
"sources": {"/stacks/0/layers/0/heads": "/n_head"}, "absent_keys": [], "ignored_keys": [], "warnings": []})";

std::string changed(const std::string& from, const std::string& to) {
  std::string out = kPlan;
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? out : out.replace(at, from.size(), to);
}

struct Case {
  const char* name;
  const char* from;
  const char* to;
  ErrorKind kind;
  const char* path;
  const char* fragment;
};

// GoogleTest would print the bytes, pointers and all, into the test's name.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Malformed : public ::testing::TestWithParam<Case> {};

TEST_P(Malformed, is_refused) {
  const Case& c = GetParam();
  const Result<Plan> plan = plan_from_json(changed(c.from, c.to), "some.json");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(name(plan.error().kind), name(c.kind)) << plan.error().message();
  EXPECT_EQ(plan.error().path, c.path);
  EXPECT_THAT(plan.error().message(), HasSubstr(c.fragment));
  EXPECT_EQ(plan.error().message().find("some.json:"), 0U) << plan.error().message();
}

constexpr const char* kRotate = "/stacks/0/layers/0/rotate/0";

INSTANTIATE_TEST_SUITE_P(
    Plan, Malformed,
    ::testing::Values(
        Case{"no_version", "\"schema_version\": 2, ", "", ErrorKind::missing_key, "", "the key 'schema_version'"},
        Case{"other_version", "\"schema_version\": 2", "\"schema_version\": 3", ErrorKind::bad_plan, "/schema_version",
             "expected 1 or 2, got 3"},
        Case{"text_for_bool", "\"known\": true", "\"known\": \"yes\"", ErrorKind::type, "/known", "got \"yes\""},
        Case{"unknown_key", "\"family\":", "\"familly\": 1, \"family\":", ErrorKind::bad_plan, "/familly",
             "expected no such key"},
        Case{"unknown_key_within", "\"past\": 7", "\"past\": 7, \"n\": 1", ErrorKind::bad_plan,
             "/stacks/0/layers/0/mask/window/n", "expected no such key"},
        Case{"unknown_key_in_rule", "\"factor\": 2", "\"factor\": 2, \"type\": \"linear\"", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/scaling/type", "expected no such key"},
        Case{"missing_key", "\"kv_heads\": 1, ", "", ErrorKind::missing_key, "/stacks/0/layers/0", "'kv_heads'"},
        Case{"missing_key_in_rule", ", \"factor\": 2", "", ErrorKind::missing_key,
             "/stacks/0/layers/0/rotate/0/scaling", "'factor'"},
        Case{"key_twice", "\"base\": 10000", "\"base\": 10000, \"base\": 1", ErrorKind::json_duplicate_key,
             "/stacks/0/layers/0/rotate/0/base", "on lines 10 and 10"},
        Case{"source_twice", "\"/n_head\"", "\"/n_head\", \"/stacks/0/layers/0/heads\": \"/n\"",
             ErrorKind::json_duplicate_key, "/sources/~1stacks~10~1layers~10~1heads", "each key once"},
        Case{"source_no_text", "\"/n_head\"", "7", ErrorKind::type, "/sources/~1stacks~10~1layers~10~1heads",
             "expected a string, got 7"},
        Case{"unknown_source", "\"preset\"", "\"yaml\"", ErrorKind::out_of_range, "/source/kind",
             "one of config.json, gguf, params.json, preset, got \"yaml\""},
        Case{"length_zero", "\"trained_length\": 64", "\"trained_length\": 0", ErrorKind::out_of_range,
             "/trained_length", "an integer of at least 1, got 0"},
        Case{"length_broken", "\"trained_length\": 64", "\"trained_length\": 64.5", ErrorKind::out_of_range,
             "/trained_length", "got 64.5"},
        Case{"length_huge", "\"trained_length\": 64", "\"trained_length\": 1e300", ErrorKind::out_of_range,
             "/trained_length", "1e300"},
        Case{"stacks_object", "\"input\": [", "\"input\": {}, \"stacks\": [", ErrorKind::type, "/stacks/0/input",
             "expected an array"},
        Case{"unknown_input", "\"learned\"", "\"guessed\"", ErrorKind::out_of_range, "/stacks/0/input/0/kind",
             "one of learned, sinusoidal, axial"},
        Case{"index_negative", "\"index\": 0", "\"index\": -1", ErrorKind::out_of_range, "/stacks/0/layers/0/index",
             "got -1"},
        Case{"bare_layer_with_more", "\"kind\": \"none\"", "\"kind\": \"none\", \"heads\": 2", ErrorKind::bad_plan,
             "/stacks/0/layers/1/heads", "expected no such key"},
        Case{"attention_without_more", "\"kind\": \"none\"", "\"kind\": \"attention\"", ErrorKind::missing_key,
             "/stacks/0/layers/1", "'heads'"},
        Case{"known_without_heads", "\"heads\": 2", "\"heads\": 0", ErrorKind::bad_plan, "/stacks/0/layers/0",
             "heads, kv_heads, head_dim and value_dim above 0"},
        Case{"scale_nan", "\"softmax_scale\": 0.5", "\"softmax_scale\": NaN", ErrorKind::not_finite,
             "/stacks/0/layers/0/softmax_scale", "NaN"},
        Case{"scale_null", "\"softmax_scale\": 0.5", "\"softmax_scale\": null", ErrorKind::type,
             "/stacks/0/layers/0/softmax_scale", "got null"},
        Case{"cap_zero", "\"cap\": 50", "\"cap\": 0", ErrorKind::out_of_range, "/stacks/0/layers/0/soft_cap/cap",
             "a number above 0, got 0"},
        Case{"detail_empty", "\"detail\": null", "\"detail\": \"\"", ErrorKind::out_of_range,
             "/stacks/0/layers/0/mask/detail", "null or a text"},
        Case{"mask_missing",
             "\"mask\": {\"kind\": \"causal\", \"window\": {\"past\": 7, \"future\": 0}, \"chunk\": null, "
             "\"detail\": null}",
             "\"mask\": []", ErrorKind::type, "/stacks/0/layers/0/mask", "expected an object, got an array"},
        Case{"pairing", "\"half\"", "\"neox\"", ErrorKind::out_of_range, "/stacks/0/layers/0/rotate/0/pairing",
             "one of half, interleaved, got \"neox\""},
        Case{"unknown_rule", "\"rule\": \"linear\"", "\"rule\": \"su\"", ErrorKind::out_of_range,
             "/stacks/0/layers/0/rotate/0/scaling/rule", "got \"su\""},
        Case{"shared_frequencies", "\"axis_of_pair\"", "\"axis_frequencies\": \"shared\", \"axis_of_pair\"",
             ErrorKind::out_of_range, "/stacks/0/layers/0/rotate/0/axis_frequencies", "per_axis or strided"},
        Case{"offset_of_nothing", "\"axis_of_pair\"", "\"offset\": 0, \"axis_of_pair\"", ErrorKind::out_of_range,
             "/stacks/0/layers/0/rotate/0/offset", "an integer other than 0"},
        Case{"rope_with_scale_base", "\"axis_of_pair\"", "\"scale_base\": 512, \"axis_of_pair\"", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/scale_base", "expected no such key"},
        Case{"dim_above_head", "\"dim\": 4, \"base\"", "\"dim\": 6, \"base\"", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/dim", "got 6"},
        Case{"dim_huge", "\"head_dim\": 4, \"pairing\": \"half\", \"first_channel\": 0,\n     \"dim\": 4",
             "\"head_dim\": 4611686018427387904, \"pairing\": \"half\", \"first_channel\": 0,\n     \"dim\": 4",
             ErrorKind::bad_plan, "/stacks/0/layers/0/rotate/0/head_dim", "got 4611686018427387904"},
        Case{"dim_claimed", "\"head_dim\": 4, \"pairing\": \"half\", \"first_channel\": 0,\n     \"dim\": 4",
             "\"head_dim\": 64, \"pairing\": \"half\", \"first_channel\": 0,\n     \"dim\": 64", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/axis_of_pair", "axes.of_pair"},
        Case{"factor_negative", "\"factor\": 2", "\"factor\": -2", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/scaling/factor", "got -2"},
        Case{"axis_out_of_range", "[0, 0], \"inv", "[0, 3], \"inv", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/axis_of_pair/1", "got 3"},
        Case{"axis_beyond_32_bits", "[0, 0], \"inv", "[0, 4294967296], \"inv", ErrorKind::out_of_range,
             "/stacks/0/layers/0/rotate/0/axis_of_pair/1", "32 bits"},
        Case{"axes_empty_list", "[0, 0], \"inv", "[], \"inv", ErrorKind::length_mismatch,
             "/stacks/0/layers/0/rotate/0/axis_of_pair", "null or one axis for each pair"},
        Case{"frequencies_short", "[0.5, 0.005]", "[0.5]", ErrorKind::length_mismatch,
             "/stacks/0/layers/0/rotate/0/inv_freq", "expected 2 numbers, dim / 2, got 1"},
        Case{"frequency_wrong", "[0.5, 0.005]", "[0.5, 0.0050001]", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/inv_freq/1", "expected 0.005, got 0.0050001"},
        Case{"frequency_of_float32", "[0.5, 0.005]", "[0.5, 0.004999999888241291]", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/inv_freq/1", "got 0.004999999888241291"},
        Case{"attention_factor_wrong", "\"attention_factor\": 1", "\"attention_factor\": 1.5", ErrorKind::bad_plan,
             "/stacks/0/layers/0/rotate/0/attention_factor", "expected 1, got 1.5"},
        Case{"score_not_a_list", "\"score\": [", "\"score\": null, \"x\": [", ErrorKind::type,
             "/stacks/0/layers/0/score", "expected an array, got null"},
        Case{"value_kind", "\"rotated\"", "\"shaw\"", ErrorKind::missing_key, "/stacks/0/layers/0/value", "'left'"},
        Case{"logn_of_one", "\"seq_length\": 64", "\"seq_length\": 1", ErrorKind::out_of_range,
             "/stacks/0/layers/0/query_scale/seq_length", "at least 2"},
        Case{"warnings_of_texts", "\"warnings\": []", "\"warnings\": [\"x\"]", ErrorKind::type, "/warnings/0",
             "expected an object, got \"x\""},
        Case{"trailing", "\"warnings\": []}", "\"warnings\": []} {", ErrorKind::json_trailing, "", ""}),
    [](const ::testing::TestParamInfo<Case>& one) { return one.param.name; });

TEST(MalformedPlan, the_plan_itself_is_valid) {
  const Result<Plan> plan = plan_from_json(kPlan);
  EXPECT_TRUE(plan.ok()) << plan.error().message();
}

// The length comes into the frequencies: one that a document does not share with its numbers is found.
TEST(MalformedPlan, length_contradicts_frequencies) {
  std::string json = changed("\"rule\": \"linear\", \"factor\": 2",
                             "\"rule\": \"dynamic\", \"factor\": 2, \"max_position_embeddings\": 64");
  json.replace(json.find("[0.5, 0.005]"), 12, "[1, 0.01]");
  ASSERT_TRUE(plan_from_json(json).ok()) << plan_from_json(json).error().message();
  json.replace(json.find("\"length\": null"), 14, "\"length\": 128");
  const Result<Plan> plan = plan_from_json(json);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::bad_plan);
  EXPECT_EQ(plan.error().path, std::string(kRotate) + "/inv_freq/1");
}

// A length at which frequencies leave all floats is an error of the document, never an exception.
TEST(MalformedPlan, length_beyond_arithmetic) {
  std::string json = changed("\"rule\": \"linear\", \"factor\": 2",
                             "\"rule\": \"dynamic\", \"factor\": 1e38, \"max_position_embeddings\": 64");
  json.replace(json.find("\"length\": null"), 14, "\"length\": 4611686018427387904");
  json.replace(json.find("[0.5, 0.005]"), 12, "[1, 1e-57]");
  const Result<Plan> plan = plan_from_json(json);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::out_of_range);
  EXPECT_EQ(plan.error().path, std::string(kRotate) + "/inv_freq/1");
}

TEST(MalformedPlan, too_many_layers) {
  std::string layers = R"("layers": [)";
  for (int i = 0; i < 16385; ++i) layers += R"({"index":0,"kind":"none"},)";
  const Result<Plan> plan = plan_from_json(changed(R"("layers": [)", layers));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::limit);
  EXPECT_EQ(plan.error().path, "/stacks/0/layers/16384");
}

TEST(MalformedPlan, not_an_object) {
  for (const char* json : {"[]", "null", "7", "\"plan\""}) {
    const Result<Plan> plan = plan_from_json(json);
    ASSERT_FALSE(plan.ok()) << json;
    EXPECT_EQ(plan.error().kind, ErrorKind::type) << json;
  }
  const Result<Plan> plan = plan_from_json("");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::empty);
}

// No prefix of a document, and no document with one byte changed, does more than fail.
TEST(MalformedPlan, every_prefix_and_every_changed_byte_is_survived) {
  const std::string whole = kPlan;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(plan_from_json(whole.substr(0, size)).ok()) << size;
  }
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\0', '"', '9', '-', '{', ']', '\xff'}) {
      std::string json = whole;
      json[at] = byte;
      const Result<Plan> plan = plan_from_json(json);
      if (!plan.ok()) {
        ++refused;
        EXPECT_FALSE(plan.error().message().empty());
      }
    }
  }
  EXPECT_GT(refused, whole.size());
}

}  // namespace
}  // namespace posenc::plan_json_malformed_test
