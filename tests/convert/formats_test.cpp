// Formats: GGUF of every type of blocks, scales beside weights, and what packs rows so that they cannot be moved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "convert/small_checkpoint.h"
#include "io/gguf/gguf_types.h"
#include "posenc/read_plan.h"
#include "posenc/tensor_file.h"
#include "support/gguf_builder.h"
#include "support/temporary_folder.h"

namespace posenc::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kWidth = 256;  // numbers of a row: whole blocks of every type

// A Llama of one layer: 2 heads of 8 channels, 1 KV head.
GgufBuilder small_gguf(std::string_view architecture = "llama") {
  const std::string at = std::string(architecture) + ".";
  GgufBuilder out;
  out.text("general.architecture", architecture)
      .u32(at + "block_count", 1)
      .u32(at + "context_length", 64)
      .u32(at + "embedding_length", 16)
      .u32(at + "attention.head_count", 2)
      .u32(at + "attention.head_count_kv", 1)
      .u32(at + "attention.key_length", 8)
      .u32(at + "attention.value_length", 8)
      .u32(at + "rope.dimension_count", 8)
      .f32(at + "rope.freq_base", 10000.0F);
  return out;
}

struct GgufCase {
  std::string q;
  std::string k;
  std::string bytes;
};

GgufCase gguf_of_type(std::uint32_t type, std::uint64_t row_bytes) {
  GgufCase out;
  out.q = random_bytes(16 * row_bytes, type + 1);
  out.k = random_bytes(8 * row_bytes, type + 2);
  out.bytes = small_gguf()
                  .tensor({.name = "blk.0.attn_q.weight", .shape = {kWidth, 16}, .type = type, .data = out.q})
                  .tensor({.name = "blk.0.attn_k.weight", .shape = {kWidth, 8}, .type = type, .data = out.k})
                  .tensor({.name = "blk.0.attn_v.weight", .shape = {kWidth, 8}, .type = type, .data = out.k})
                  .bytes();
  return out;
}

// Rows of blocks are moved and never looked into: random bytes are as good as weights. The architecture `llama` is
// interleaved for llama.cpp, so that a file whose rows were never permuted is mended by --from half.
TEST(ConvertFormats, EveryTypeOfBlocks) {
  int types = 0;
  const TemporaryFolder folder;
  for (std::uint32_t number = 0; number < 64; ++number) {
    const std::optional<io::GgmlType> type = io::ggml_type(number);
    if (!type) continue;
    ++types;
    const auto row = kWidth / type->block * type->bytes;
    const GgufCase file = gguf_of_type(number, row);
    const std::filesystem::path source = folder.file("model.gguf", file.bytes);
    const ConvertArgs args{.source = source,
                           .output = folder.path() / "out.gguf",
                           .to = Pairing::interleaved,
                           .from = Pairing::half,
                           .replace = true};
    ASSERT_EQ(refusal(args), "") << type->name;
    std::string expected = file.bytes;
    const auto bytes = static_cast<std::int64_t>(row);
    expected.replace(expected.find(file.q), file.q.size(),
                     interleaved(file.q, bytes, {.heads = 2, .between = 8, .dim = 8}));
    const std::size_t k = expected.find(file.k);
    expected.replace(k, file.k.size(), interleaved(file.k, bytes, {.between = 8, .dim = 8}));
    // Behind a header that has grown by the mark, a whole number of alignments (marks_test.cpp).
    const std::string written = file_content(args.output);
    constexpr std::size_t kAlignment = 32;
    ASSERT_EQ(written.size(), expected.size() + 2 * kAlignment) << type->name;
    const std::size_t data = expected.size() - 4 * file.k.size();  // q and v have 16 + 8 + 8 rows
    EXPECT_EQ(written.substr(data + 2 * kAlignment), expected.substr(data)) << type->name;
    const ConvertArgs back{
        .source = args.output, .output = folder.path() / "back.gguf", .to = Pairing::half, .replace = true};
    ASSERT_EQ(refusal(back), "") << type->name;
    EXPECT_EQ(file_content(back.output), file.bytes) << type->name;
  }
  EXPECT_GE(types, 30);
}

TEST(ConvertFormats, GgufOfWhatIsThatAlready) {
  const TemporaryFolder folder;
  const std::filesystem::path source = folder.file("model.gguf", gguf_of_type(kF16, 2 * kWidth).bytes);
  ConvertArgs args{.source = source, .output = folder.path() / "out.gguf", .to = Pairing::interleaved};
  EXPECT_THAT(refusal(args), HasSubstr("which is what the plan has"));
  args.to = Pairing::half;
  const Result<Conversion> done = convert(args);
  ASSERT_TRUE(done.ok()) << done.error().message();
  ASSERT_FALSE(done->notes.empty());
  EXPECT_THAT(done->notes.back(), HasSubstr("GGUF has no key for the pairing"));
  EXPECT_EQ(folder.entries(), 2);
}

TEST(ConvertFormats, GgufBiasesNormsAndFused) {
  const TemporaryFolder folder;
  const std::string q = random_bytes(16 * 4 * 16, 1);
  const std::string norm = random_bytes(8 * 4, 2);
  const std::string fused = random_bytes(32 * 4 * 16, 3);
  const std::filesystem::path source =
      folder.file("model.gguf", small_gguf("qwen3")
                                    .tensor({.name = "blk.0.attn_q.weight", .shape = {16, 16}, .data = q})
                                    .tensor({.name = "blk.0.attn_k.weight", .shape = {16, 8}, .data = q.substr(0, 512)})
                                    .tensor({.name = "blk.0.attn_v.weight", .shape = {16, 8}, .data = q.substr(0, 512)})
                                    .tensor({.name = "blk.0.attn_q_norm.weight", .shape = {8}, .data = norm})
                                    .tensor({.name = "blk.0.attn_k_norm.weight", .shape = {8}, .data = norm})
                                    .bytes());
  const ConvertArgs args{.source = source, .output = folder.path() / "out.gguf", .to = Pairing::interleaved};
  ASSERT_EQ(refusal(args), "");
  EXPECT_EQ(tensor_bytes(args.output, "blk.0.attn_k_norm.weight"), interleaved(norm, 4, {.between = 8, .dim = 8}));
  const std::filesystem::path other = folder.file(
      "fused.gguf",
      small_gguf("phi3").tensor({.name = "blk.0.attn_qkv.weight", .shape = {16, 32}, .data = fused}).bytes());
  const ConvertArgs of_fused{.source = other, .output = folder.path() / "f.gguf", .to = Pairing::interleaved};
  ASSERT_EQ(refusal(of_fused), "");
  EXPECT_EQ(tensor_bytes(of_fused.output, "blk.0.attn_qkv.weight"),
            interleaved(fused, 64, {.heads = 3, .between = 8, .dim = 8}));
}

TEST(ConvertFormats, GgufBigEndianAndInParts) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "parts");
  const std::string q = random_bytes(16 * 64, 1);
  const std::string k = random_bytes(8 * 64, 2);
  const auto part = [&](const std::string& name, const GgufBuilder& builder) {
    return folder.file("parts/" + name, builder.bytes());
  };
  const std::filesystem::path first =
      part("m-00001-of-00002.gguf", small_gguf()
                                        .raw("split.no", 2, std::string("\0\0", 2))
                                        .raw("split.count", 2, std::string("\2\0", 2))
                                        .tensor({.name = "blk.0.attn_q.weight", .shape = {16, 16}, .data = q}));
  part("m-00002-of-00002.gguf", GgufBuilder()
                                    .raw("split.no", 2, std::string("\1\0", 2))
                                    .raw("split.count", 2, std::string("\2\0", 2))
                                    .tensor({.name = "blk.0.attn_k.weight", .shape = {16, 8}, .data = k})
                                    .tensor({.name = "blk.0.attn_v.weight", .shape = {16, 8}, .data = k}));
  const ConvertArgs args{.source = first, .output = folder.path() / "out", .to = Pairing::half};
  const Result<Conversion> done = convert(args);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->files.size(), 2U);
  EXPECT_EQ(interleaved(tensor_bytes(folder.path() / "out/m-00002-of-00002.gguf", "blk.0.attn_k.weight"), 64,
                        {.between = 8, .dim = 8}),
            k);
  const ConvertArgs second{
      .source = folder.path() / "parts/m-00002-of-00002.gguf", .output = folder.path() / "no", .to = Pairing::half};
  EXPECT_THAT(refusal(second), HasSubstr("the first part of a model in parts"));
}

// Two heads of 8 + 4 channels, of which the last 4 rotate; the keys' are the last rows of attn_kv_a_mqa.
TEST(ConvertFormats, GgufLatentAttention) {
  const TemporaryFolder folder;
  const std::string q = random_bytes(24 * 64, 1);
  const std::string kv = random_bytes(20 * 64, 2);
  const std::filesystem::path source =
      folder.file("model.gguf", GgufBuilder()
                                    .text("general.architecture", "deepseek2")
                                    .u32("deepseek2.block_count", 1)
                                    .u32("deepseek2.context_length", 64)
                                    .u32("deepseek2.embedding_length", 16)
                                    .u32("deepseek2.attention.head_count", 2)
                                    .u32("deepseek2.attention.head_count_kv", 2)
                                    .u32("deepseek2.attention.kv_lora_rank", 16)
                                    .u32("deepseek2.attention.key_length", 12)
                                    .u32("deepseek2.attention.value_length", 8)
                                    .u32("deepseek2.rope.dimension_count", 4)
                                    .f32("deepseek2.rope.freq_base", 10000.0F)
                                    .tensor({.name = "blk.0.attn_q.weight", .shape = {16, 24}, .data = q})
                                    .tensor({.name = "blk.0.attn_kv_a_mqa.weight", .shape = {16, 20}, .data = kv})
                                    .floats("blk.0.attn_kv_a_norm.weight", std::vector<float>(16, 1.0F))
                                    .bytes());
  const ConvertArgs args{.source = source, .output = folder.path() / "out.gguf", .to = Pairing::half};
  ASSERT_EQ(refusal(args), "");
  EXPECT_EQ(interleaved(tensor_bytes(args.output, "blk.0.attn_q.weight"), 64,
                        {.heads = 2, .between = 12, .first = 8, .dim = 4}),
            q);
  EXPECT_EQ(
      interleaved(tensor_bytes(args.output, "blk.0.attn_kv_a_mqa.weight"), 64, {.between = 20, .first = 16, .dim = 4}),
      kv);
}

// Mistral's own files: params.json, consolidated.safetensors, wq and wk.
TEST(ConvertFormats, OwnFilesOfMistral) {
  const TemporaryFolder folder;
  folder.file("params.json", R"({"dim": 32, "n_layers": 1, "head_dim": 8, "hidden_dim": 64, "n_heads": 4,
    "n_kv_heads": 2, "norm_eps": 1e-05, "vocab_size": 16, "rope_theta": 10000.0})");
  const SmallTensor q = numbers("layers.0.attention.wq.weight", {32, 32}, 1);
  folder.file("consolidated.safetensors", safetensors_of({q, numbers("layers.0.attention.wk.weight", {16, 32}, 2),
                                                          numbers("layers.0.attention.wv.weight", {16, 32}, 3)}));
  const ConvertArgs args{.source = folder.path(), .output = folder.path() / "out", .to = Pairing::half};
  ASSERT_EQ(refusal(args), "");
  EXPECT_EQ(interleaved(tensor_bytes(args.output / "consolidated.safetensors", q.name), 64,
                        {.heads = 4, .between = 8, .dim = 8}),
            q.data);
}

// ---- scales ----

struct Fp8Model {
  TemporaryFolder folder;
  ConvertArgs args{.source = folder.path(), .output = folder.path() / "out", .to = Pairing::interleaved};

  explicit Fp8Model(const SmallTensor& scale, std::string_view config = kSmallLlama) {
    const std::string at = "model.layers.0.self_attn.";
    std::string one(config);
    one.replace(one.find("\"num_hidden_layers\": 2"), 22, "\"num_hidden_layers\": 1");
    folder.file("config.json", one);
    folder.file("model.safetensors", safetensors_of({any_bytes(at + "q_proj.weight", "F8_E4M3", {32, 32}, 32, 1), scale,
                                                     any_bytes(at + "k_proj.weight", "F8_E4M3", {16, 32}, 32, 2),
                                                     any_bytes(at + "v_proj.weight", "F8_E4M3", {16, 32}, 32, 3)}));
  }
};
const std::string kQueryScale = "model.layers.0.self_attn.q_proj.weight_scale";

TEST(ConvertFormats, ScalesMoveWithTheirRows) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{32}, {32, 1}}) {
    const SmallTensor scale = numbers(kQueryScale, shape, 4);
    const Fp8Model model(scale);
    ASSERT_EQ(refusal(model.args), "");
    EXPECT_EQ(tensor_bytes(model.args.output / "model.safetensors", kQueryScale),
              interleaved(scale.data, 2, {.heads = 4, .between = 8, .dim = 8}));
  }
  const SmallTensor all = numbers(kQueryScale, {1}, 4);
  const Fp8Model model(all);
  ASSERT_EQ(refusal(model.args), "");
  EXPECT_EQ(tensor_bytes(model.args.output / "model.safetensors", kQueryScale), all.data);
}

// Blocks of rows: heads of 8 rows lie within blocks of 16 and not within blocks of 4; 1 of 128 holds all.
TEST(ConvertFormats, ScalesOfBlocks) {
  const SmallTensor fits = numbers(kQueryScale + "_inv", {2, 1}, 4);
  const Fp8Model whole(fits);
  ASSERT_EQ(refusal(whole.args), "");
  EXPECT_EQ(tensor_bytes(whole.args.output / "model.safetensors", fits.name), fits.data);
  const Fp8Model cut(numbers(kQueryScale + "_inv", {8, 1}, 4));
  EXPECT_THAT(refusal(cut.args), HasSubstr("rows would come under another scale"));
  const Fp8Model odd(numbers(kQueryScale + "_inv", {7, 1}, 4));
  EXPECT_THAT(refusal(odd.args), HasSubstr("a scale for each of 32 rows"));
}

TEST(ConvertFormats, PackedFormatsAreRefusedByName) {
  const std::string at = "model.layers.0.self_attn.q_proj.";
  const std::pair<const char*, const char*> cases[] = {{"qweight", "AWQ"},
                                                       {"qzeros", "GPTQ"},
                                                       {"weight_packed", "compressed-tensors"},
                                                       {"weight.quant_state.bitsandbytes__nf4", "bitsandbytes"},
                                                       {"SCB", "bitsandbytes"},
                                                       {"hada_w1_a", "whether its rows must move is not known"}};
  for (const auto& [ending, words] : cases) {
    const Fp8Model model(any_bytes(at + ending, "I32", {8, 4}, 16, 4));
    EXPECT_THAT(refusal(model.args), HasSubstr(words)) << ending;
    EXPECT_THAT(refusal(model.args), HasSubstr(at + ending));
    EXPECT_EQ(model.folder.entries(), 2) << "nothing is written";
  }
}

TEST(ConvertFormats, UnknownTensorsOfQueriesAreRefused) {
  const Fp8Model model(numbers("model.layers.0.self_attn.q_conv1d.weight", {32, 4}, 4));
  EXPECT_THAT(refusal(model.args), HasSubstr("q_conv1d"));
  const Fp8Model scalar(numbers("model.layers.0.self_attn.k_scale", {1}, 4));
  EXPECT_EQ(refusal(scalar.args), "");
}

TEST(ConvertFormats, PicklesAndOthersAreRefusedByName) {
  const TemporaryFolder folder;
  folder.file("config.json", kSmallLlama);
  for (const char* name : {"pytorch_model.bin", "consolidated.00.pth", "model.pt"}) {
    const std::filesystem::path path = folder.file(name, "PK\3\4");
    const ConvertArgs args{.source = path, .output = folder.path() / "out", .to = Pairing::interleaved};
    EXPECT_THAT(refusal(args), HasSubstr("safetensors.torch.save_file"));
  }
  EXPECT_THAT(refusal({.source = folder.path(), .output = folder.path() / "out", .to = Pairing::interleaved}),
              HasSubstr("consolidated.00.pth"));
  const float one = 1.0F;
  const std::filesystem::path npy = folder.path() / "x.npy";
  ASSERT_TRUE(write_npy(npy, {&one, DType::f32, 1, {1}, {1}}).ok());
  EXPECT_THAT(refusal({.source = npy, .output = folder.path() / "out", .to = Pairing::half}),
              HasSubstr("expected safetensors or GGUF, got npy"));
  const TemporaryFolder empty;
  EXPECT_THAT(refusal({.source = empty.path(), .output = empty.path() / "out", .to = Pairing::half}),
              HasSubstr("got none"));
}

// ---- what no order of rows converts ----

TEST(ConvertFormats, PlansThatNoOrderOfRowsConverts) {
  const TemporaryFolder folder;
  folder.file("model.safetensors", safetensors_of(small_llama()));
  const std::filesystem::path config = folder.file("config.json", kSmallLlama);
  Plan plan = *read_plan(config);
  const auto refused = [&](const auto& change) {
    Plan other = plan;
    change(other.stacks[0].layers[1]);
    return refusal(
        {.source = folder.path(), .output = folder.path() / "out", .to = Pairing::interleaved, .plan = &other});
  };
  EXPECT_THAT(refused([](LayerPlan& l) { l.rotate[0].role = RotateRole::before_projection; }),
              HasSubstr("before the projections"));
  EXPECT_THAT(refused([](LayerPlan& l) { l.rotate[0].heads = 2; }), HasSubstr("rotates 2 of 4"));
  EXPECT_THAT(refused([](LayerPlan& l) { l.value = RotatedValues{}; }), HasSubstr("rotates values too"));
  EXPECT_THAT(refused([](LayerPlan& l) { l.score.emplace_back(ShawKeys{}); }), HasSubstr("vectors of its own"));
  EXPECT_THAT(refused([](LayerPlan& l) { l.channel_scale = true; }), HasSubstr("a learned factor for each channel"));
  EXPECT_THAT(refused([](LayerPlan& l) { l.compression = 4; }), HasSubstr("several tokens"));
  EXPECT_THAT(refused([](LayerPlan& l) { l.rotate.push_back(l.rotate[0]); }), HasSubstr("several"));
  EXPECT_EQ(refused([](LayerPlan& l) { l.score.emplace_back(Alibi{}); }), "");
  EXPECT_THAT(refusal({.source = folder.path(), .output = folder.path() / "o", .to = Pairing::half}),
              HasSubstr("what the plan has"));
  EXPECT_THAT(refusal({.source = folder.path(), .output = folder.path() / "o", .to = Pairing::half, .stack = "vision"}),
              HasSubstr("be one of decoder"));
  plan.stacks[0].known = false;
  plan.stacks[0].unknown = {"its base"};
  EXPECT_THAT(
      refusal({.source = folder.path(), .output = folder.path() / "o", .to = Pairing::interleaved, .plan = &plan}),
      HasSubstr("its base"));
}

}  // namespace
}  // namespace posenc::test
