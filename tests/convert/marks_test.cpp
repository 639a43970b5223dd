// The mark that a conversion leaves: a second one is refused, the way back takes it out, and nothing else has changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "convert/mark.h"
#include "convert/small_checkpoint.h"
#include "io/json/json.h"
#include "posenc/read_plan.h"
#include "posenc/tensor_file.h"
#include "support/gguf_builder.h"
#include "support/temporary_folder.h"

namespace posenc::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::string_view kKey = "posenc.pairing.decoder";

// The header of a file of safetensors replaced by another.
std::string with_header(const std::string& file, const std::string& header) {
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8U | static_cast<std::uint8_t>(file[i]);
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + file.substr(8 + length);
}

std::string header_of(const std::string& file) {
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8U | static_cast<std::uint8_t>(file[i]);
  return file.substr(8, length);
}

struct Llama {
  TemporaryFolder folder;
  fs::path source = folder.path() / "model";
  std::string bytes;

  explicit Llama(std::string file) : bytes(std::move(file)) {
    fs::create_directory(source);
    folder.file("model/config.json", kSmallLlama);
    folder.file("model/model.safetensors", bytes);
  }
  static std::string weights(const fs::path& of) { return file_content(of / "model.safetensors"); }
  ConvertArgs args(const fs::path& from, const std::string& to_name, Pairing to) const {
    return {.source = from, .output = folder.path() / to_name, .to = to};
  }
};

// Files of all kinds of headers: what is put in is all that is taken out.
TEST(ConvertMarks, ThereAndBackIsTheSameFileWhateverItsHeader) {
  const std::string plain = safetensors_of(small_llama());
  const std::string members = header_of(plain).substr(1);
  const std::vector<std::string> headers = {
      "{" + members,
      "{" + members + "   ",
      "{  " + members,
      R"({"__metadata__":{"format":"pt"},)" + members,
      R"({"__metadata__": { "format": "pt", "x": "1,}\"" } , )" + members + " ",
      R"({"__metadata__":{},)" + members,
      R"({"__metadata__":{ },)" + members,
      "{" + members.substr(0, members.size() - 1) + R"(,"__metadata__":{"a":"b"}})",
  };
  for (const std::string& header : headers) {
    const Llama model(with_header(plain, header));
    const Result<Conversion> done = convert(model.args(model.source, "out", Pairing::interleaved));
    ASSERT_TRUE(done.ok()) << header << ": " << done.error().message();
    EXPECT_EQ(done->mark, (ConfigChange{std::string(kKey), "interleaved"}));
    const fs::path out = model.folder.path() / "out";
    const Result<TensorFile> read = open_tensor_file(out / "model.safetensors");
    ASSERT_TRUE(read.ok()) << header << ": " << read.error().message();
    EXPECT_EQ(read->metadata().at(std::string(kKey)), "interleaved") << header;
    const std::string written = header_of(Llama::weights(out));
    EXPECT_EQ(written.size() % 8, header.size() % 8) << written;
    EXPECT_EQ(written.front(), '{');

    // A second time, by the plan or by words of the user's.
    ConvertArgs twice = model.args(out, "twice", Pairing::interleaved);
    EXPECT_THAT(refusal(twice), HasSubstr("to which model.safetensors was converted already (posenc.pairing.decoder)"));
    twice.from = Pairing::half;
    EXPECT_THAT(refusal(twice), HasSubstr("converted already"));
    EXPECT_FALSE(fs::exists(twice.output));

    // Back, without a word about what the rows are.
    const Result<Conversion> back = convert(model.args(out, "back", Pairing::half));
    ASSERT_TRUE(back.ok()) << header << ": " << back.error().message();
    EXPECT_EQ(back->from, Pairing::interleaved);
    EXPECT_EQ(back->mark, (ConfigChange{std::string(kKey), ""}));
    EXPECT_EQ(Llama::weights(model.folder.path() / "back"), model.bytes) << header;
  }
}

// transformers refuses a file that has __metadata__ without a format.
TEST(ConvertMarks, MetadataOfOurOwnSaysTheFormat) {
  const Llama model(safetensors_of(small_llama()));
  ASSERT_EQ(refusal(model.args(model.source, "out", Pairing::interleaved)), "");
  const Result<TensorFile> read = open_tensor_file(model.folder.path() / "out/model.safetensors");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->metadata().at("format"), "pt");
}

TEST(ConvertMarks, AgainMovesThemAgain) {
  const Llama model(safetensors_of(small_llama()));
  ASSERT_EQ(refusal(model.args(model.source, "out", Pairing::interleaved)), "");
  ConvertArgs again = model.args(model.folder.path() / "out", "again", Pairing::interleaved);
  again.again = true;
  const Result<Conversion> done = convert(again);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->mark.value, "interleaved");
  const std::string name = "model.layers.0.self_attn.q_proj.weight";
  EXPECT_EQ(tensor_bytes(again.output / "model.safetensors", name),
            interleaved(tensor_bytes(model.folder.path() / "out/model.safetensors", name), 64,
                        {.heads = 4, .between = 8, .dim = 8}));
  EXPECT_EQ(header_of(Llama::weights(again.output)), header_of(Llama::weights(model.folder.path() / "out")));
}

// A library that keeps metadata writes a header of its own: sorted, without our spaces.
TEST(ConvertMarks, OfAFileThatWasWrittenAgain) {
  const std::string plain = safetensors_of(small_llama());
  const std::string members = header_of(plain).substr(1);
  for (const std::string metadata :
       {R"("posenc.pairing.decoder":"interleaved")", R"("a":"b","posenc.pairing.decoder":"interleaved")",
        R"("a":"b","posenc.pairing.decoder":"interleaved","z":"y")",
        R"("posenc.pairing.decoder":"interleaved","z":"y")",
        R"("format":"pt","posenc.pairing.decoder":"interleaved")"}) {
    std::string header = R"({"__metadata__":{)";
    header.append(metadata).append("},").append(members);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const Llama model(with_header(plain, header));
    ASSERT_EQ(refusal(model.args(model.source, "out", Pairing::half)), "") << metadata;
    const fs::path out = model.folder.path() / "out/model.safetensors";
    const Result<TensorFile> read = open_tensor_file(out);
    ASSERT_TRUE(read.ok()) << metadata << ": " << read.error().message() << header_of(file_content(out));
    EXPECT_FALSE(read->metadata().contains(std::string(kKey))) << metadata;
    EXPECT_EQ(read->metadata().contains("a"), metadata.find("\"a\"") != std::string::npos) << metadata;
    EXPECT_EQ(read->metadata().contains("z"), metadata.find("\"z\"") != std::string::npos) << metadata;
    EXPECT_EQ(header_of(file_content(out)).size() % 8, 0U) << metadata;
  }
}

TEST(ConvertMarks, OfAnotherValueIsRefused) {
  const std::string plain = safetensors_of(small_llama());
  const Llama model(
      with_header(plain, R"({"__metadata__":{"posenc.pairing.decoder":"both"},)" + header_of(plain).substr(1)));
  EXPECT_THAT(refusal(model.args(model.source, "out", Pairing::interleaved)),
              HasSubstr("expected half or interleaved, got both"));
}

TEST(ConvertMarks, OfSomeShardsAlone) {
  std::vector<SmallTensor> tensors = small_llama();
  const std::vector<SmallTensor> one(tensors.begin(), tensors.begin() + std::ssize(tensors) / 2);
  const std::vector<SmallTensor> two(tensors.begin() + std::ssize(tensors) / 2, tensors.end());
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "model");
  folder.file("model/config.json", kSmallLlama);
  std::string map;
  for (const auto& [name, of] : {std::pair{"a.safetensors", one}, std::pair{"b.safetensors", two}}) {
    folder.file("model/" + std::string(name), safetensors_of(of));
    for (const SmallTensor& t : of) map += (map.empty() ? "\"" : ",\"") + t.name + "\":\"" + name + "\"";
  }
  folder.file("model/model.safetensors.index.json", "{\"metadata\":{},\"weight_map\":{" + map + "}}");
  const fs::path out = folder.path() / "out";
  const ConvertArgs args{.source = folder.path() / "model", .output = out, .to = Pairing::interleaved};
  ASSERT_EQ(refusal(args), "");
  const ConvertArgs back{.source = out, .output = folder.path() / "back", .to = Pairing::half};
  ASSERT_EQ(refusal(back), "");
  for (const std::string name : {"a.safetensors", "b.safetensors"}) {
    EXPECT_EQ(file_content(back.output / name), file_content(args.source / name)) << name;
  }
  fs::copy_file(args.source / "b.safetensors", out / "b.safetensors", fs::copy_options::overwrite_existing);
  const ConvertArgs mixed{.source = out, .output = folder.path() / "mixed", .to = Pairing::half};
  EXPECT_THAT(refusal(mixed), HasSubstr("a.safetensors marked as interleaved, b.safetensors not"));
}

// Of GGUF: of every version, byte order and alignment.
TEST(ConvertMarks, OfGguf) {
  const std::string q = random_bytes(std::size_t{16} * 64, 1);
  const std::string k = random_bytes(std::size_t{8} * 64, 2);
  struct Case {
    std::uint32_t alignment = 0;  // 0: the key is absent
    std::uint32_t version = 3;
    bool big_endian = false;
  };
  for (const Case& one :
       {Case{}, Case{8}, Case{32}, Case{256}, Case{0, 1}, Case{64, 1}, Case{0, 2}, Case{0, 3, true}}) {
    const std::uint32_t alignment = one.alignment;
    GgufBuilder builder(one.version, one.big_endian);
    builder.text("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.context_length", 64)
        .u32("llama.embedding_length", 16)
        .u32("llama.attention.head_count", 2)
        .u32("llama.attention.head_count_kv", 1)
        .u32("llama.attention.key_length", 8)
        .u32("llama.attention.value_length", 8)
        .u32("llama.rope.dimension_count", 8);
    if (alignment != 0) builder.u32("general.alignment", alignment).alignment(alignment);
    const TemporaryFolder folder;
    const fs::path source =
        folder.file("model.gguf", builder.tensor({.name = "blk.0.attn_q.weight", .shape = {16, 16}, .data = q})
                                      .tensor({.name = "blk.0.attn_k.weight", .shape = {16, 8}, .data = k})
                                      .tensor({.name = "blk.0.attn_v.weight", .shape = {16, 8}, .data = k})
                                      .bytes());
    const fs::path out = folder.path() / "out.gguf";
    ASSERT_EQ(refusal({.source = source, .output = out, .to = Pairing::half}), "") << alignment;
    EXPECT_EQ((file_content(out).size() - file_content(source).size()) % (alignment == 0 ? 32 : alignment), 0U);
    EXPECT_EQ(interleaved(tensor_bytes(out, "blk.0.attn_k.weight"), 64, {.between = 8, .dim = 8}), k);
    EXPECT_THAT(file_content(out), HasSubstr(std::string(kKey)));
    EXPECT_THAT(refusal({.source = out, .output = folder.path() / "no.gguf", .to = Pairing::half}),
                HasSubstr("converted already"));
    const Result<Plan> plan = read_plan(out);
    ASSERT_TRUE(plan.ok());
    EXPECT_THAT(plan->warnings,
                testing::Contains(Warning{"converted-rows",
                                          "posenc convert has moved the rows of q and k of the decoder: they pair as "
                                          "half now.",
                                          {std::string(kKey)}}));
    const fs::path back = folder.path() / "back.gguf";
    ASSERT_EQ(refusal({.source = out, .output = back, .to = Pairing::interleaved}), "") << alignment;
    EXPECT_EQ(file_content(back), file_content(source)) << alignment;
    EXPECT_EQ(read_plan(back)->warnings, read_plan(source)->warnings);
  }
}

TEST(ConvertMarks, AreToldInTheReport) {
  const Llama model(safetensors_of(small_llama()));
  const Result<Conversion> done = convert(model.args(model.source, "out", Pairing::interleaved));
  ASSERT_TRUE(done.ok());
  EXPECT_THAT(describe(*done), HasSubstr("mark: posenc.pairing.decoder is interleaved\n"));
  EXPECT_THAT(to_json(*done), HasSubstr(R"("mark": {"key": "posenc.pairing.decoder", "value": "interleaved"})"));
  const Result<Conversion> back = convert(model.args(model.folder.path() / "out", "back", Pairing::half));
  ASSERT_TRUE(back.ok());
  EXPECT_THAT(describe(*back), HasSubstr("mark: posenc.pairing.decoder is taken out\n"));
  EXPECT_THAT(to_json(*back), HasSubstr(R"("value": null)"));
}

}  // namespace
}  // namespace posenc::test
