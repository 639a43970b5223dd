// Files: stopped and gone on with, found and not trusted, hostile, in the way; and how much memory it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <random>
#include <string>

#include "convert/score_check.h"
#include "convert/small_checkpoint.h"
#include "io/files/resumed_file.h"
#include "io/files/work_folder.h"
#include "support/heap_probe.h"
#include "support/temporary_folder.h"

namespace posenc::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// A Llama in two shards.
struct Sharded {
  TemporaryFolder folder;
  fs::path source = folder.path() / "model";
  ConvertArgs args{.source = source, .output = folder.path() / "out", .to = Pairing::interleaved};

  explicit Sharded(std::vector<SmallTensor> tensors = small_llama(true)) {
    fs::create_directory(source);
    folder.file("model/config.json", kSmallLlama);
    folder.file("model/tokenizer.json", "{}");
    const std::vector<SmallTensor> first(tensors.begin(), tensors.begin() + std::ssize(tensors) / 2);
    const std::vector<SmallTensor> second(tensors.begin() + std::ssize(tensors) / 2, tensors.end());
    std::string map;
    const auto shard = [&](const std::string& name, const std::vector<SmallTensor>& of) {
      folder.file("model/" + name, safetensors_of(of));
      for (const SmallTensor& t : of) map += (map.empty() ? "\"" : ",\"") + t.name + "\":\"" + name + "\"";
    };
    shard("model-00001-of-00002.safetensors", first);
    shard("model-00002-of-00002.safetensors", second);
    folder.file("model/model.safetensors.index.json", "{\"metadata\":{},\"weight_map\":{" + map + "}}");
  }
  fs::path partial() const { return folder.path() / "out.posenc-partial"; }
};

const std::vector<std::string> kFiles = {"config.json", "model-00001-of-00002.safetensors",
                                         "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                                         "tokenizer.json"};

std::vector<std::string> contents(const fs::path& folder) {
  std::vector<std::string> out;
  for (const std::string& name : kFiles) out.push_back(file_content(folder / name));
  return out;
}

std::vector<std::string> converted_at_once() {
  const Sharded model;
  const Result<Conversion> done = convert(model.args);
  return done ? contents(model.args.output) : std::vector<std::string>{done.error().message()};
}

TEST(ConvertFiles, ShardsAndWhatLiesBeside) {
  const Sharded model;
  const Result<Conversion> done = convert(model.args);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->beside, (std::vector<std::string>{"config.json", "model.safetensors.index.json", "tokenizer.json"}));
  EXPECT_EQ(done->found_bytes, 0);
  std::vector<std::string> names;
  for (const fs::directory_entry& one : fs::directory_iterator(model.args.output)) {
    names.push_back(one.path().filename().native());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, kFiles);
  EXPECT_FALSE(fs::exists(model.partial()));
}

// Stopped after every number of pieces there is: each time the next run ends with the same bytes.
TEST(ConvertFiles, StoppedAnywhereAndGoneOnWith) {
  const std::vector<std::string> expected = converted_at_once();
  for (int pieces = 1; pieces < 200; ++pieces) {
    const Sharded model;
    ConvertArgs stopping = model.args;
    int left = pieces;
    stopping.keep_going = [&](ConvertStage, std::int64_t done, std::int64_t all) {
      EXPECT_LE(done, all);
      return --left > 0;
    };
    const std::string words = refusal(stopping);
    if (words.empty()) {
      EXPECT_GT(pieces, 20);
      return;
    }
    ASSERT_THAT(words, HasSubstr("a request to stop"));
    ASSERT_FALSE(fs::exists(model.args.output)) << "the output is whole or not there";
    ASSERT_TRUE(fs::exists(model.partial()));
    const Result<Conversion> done = convert(model.args);
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_GT(done->found_bytes, 0);
    ASSERT_EQ(contents(model.args.output), expected);
    EXPECT_FALSE(fs::exists(model.partial()));
    if (pieces > 6) pieces += 12;  // each run takes some flushes to the disk
  }
}

// What an earlier run left is compared, whatever its record says.
TEST(ConvertFiles, WhatIsFoundIsNotTrusted) {
  const std::vector<std::string> expected = converted_at_once();
  const Sharded model;
  ConvertArgs stopping = model.args;
  stopping.keep_going = [](ConvertStage stage, std::int64_t, std::int64_t) { return stage == ConvertStage::copying; };
  ASSERT_THAT(refusal(stopping), HasSubstr("a request to stop"));
  const fs::path finished = model.partial() / kFiles[1];
  ASSERT_THAT(file_content(model.partial() / ".posenc-work.json"), HasSubstr(kFiles[1]));
  std::string spoiled = file_content(finished);
  spoiled[spoiled.size() / 2] = static_cast<char>(spoiled[spoiled.size() / 2] ^ 1);
  model.folder.file("out.posenc-partial/" + kFiles[1], spoiled + "more");
  const Result<Conversion> done = convert(model.args);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(contents(model.args.output), expected);
}

TEST(ConvertFiles, WorkOfAnotherConversionIsNotGoneOnWith) {
  const Sharded model;
  ConvertArgs stopping = model.args;
  stopping.keep_going = [](ConvertStage, std::int64_t, std::int64_t) { return false; };
  ASSERT_THAT(refusal(stopping), HasSubstr("a request to stop"));
  ConvertArgs other = model.args;
  other.to = Pairing::half;
  other.from = Pairing::interleaved;
  EXPECT_THAT(refusal(other), HasSubstr("the record of another"));
  model.folder.file("out.posenc-partial/.posenc-work.json", "{\"work\": 1, \"finis");
  EXPECT_THAT(refusal(model.args), HasSubstr("a record that cannot be read"));
  fs::remove(model.partial() / ".posenc-work.json");
  EXPECT_THAT(refusal(model.args), HasSubstr("without its record"));
  fs::remove_all(model.partial());
  ASSERT_THAT(refusal(stopping), HasSubstr("a request to stop"));
  model.folder.file("out.posenc-partial/mine", "mine");
  EXPECT_THAT(refusal(model.args), HasSubstr("nothing but the files of this work"));
  fs::remove_all(model.partial());
  fs::create_directory(model.partial());  // killed before its record was written
  EXPECT_EQ(refusal(model.args), "");
}

TEST(ConvertFiles, OneProcessAtATime) {
  const Sharded model;
  ConvertArgs args = model.args;
  std::string second;
  args.keep_going = [&](ConvertStage, std::int64_t, std::int64_t) {
    if (second.empty()) second = refusal(model.args);
    return true;
  };
  EXPECT_EQ(refusal(args), "");
  EXPECT_THAT(second, HasSubstr("another process at work"));
}

TEST(ConvertFiles, WhatStandsInTheWayStays) {
  const Sharded model;
  model.folder.file("out", "mine");
  EXPECT_THAT(refusal(model.args), HasSubstr("a name that is free"));
  EXPECT_EQ(file_content(model.args.output), "mine");
  fs::remove(model.args.output);
  fs::create_directory(model.args.output);
  const fs::path mine = model.folder.file("out/mine", "mine");
  EXPECT_THAT(refusal(model.args), HasSubstr("a folder with files"));
  fs::remove(mine);
  EXPECT_EQ(refusal(model.args), "") << "an empty folder";
  EXPECT_THAT(refusal(model.args), HasSubstr("a folder with files"));
  ConvertArgs trailing = model.args;
  trailing.output = model.folder.path() / "next/";
  EXPECT_EQ(refusal(trailing), "");
  EXPECT_TRUE(fs::exists(model.folder.path() / "next/config.json"));
  fs::create_symlink(model.source, model.folder.path() / "link");
  ConvertArgs link = model.args;
  link.output = model.folder.path() / "link";
  EXPECT_THAT(refusal(link), HasSubstr("something else"));
  ConvertArgs nowhere = model.args;
  nowhere.output = model.folder.path() / "no/such/folder";
  EXPECT_THAT(refusal(nowhere), HasSubstr("No such file"));
  nowhere.output = "";
  EXPECT_THAT(refusal(nowhere), HasSubstr("a path"));
}

TEST(ConvertFiles, OneFileIsReplacedOnlyWhereAsked) {
  const TemporaryFolder folder;
  folder.file("config.json", kSmallLlama);
  const fs::path source = folder.file("w.safetensors", safetensors_of(small_llama()));
  ConvertArgs args{.source = source, .output = folder.file("out.safetensors", "mine"), .to = Pairing::interleaved};
  EXPECT_THAT(refusal(args), HasSubstr("a name that is free"));
  args.replace = true;
  EXPECT_EQ(refusal(args), "");
  EXPECT_NE(file_content(args.output), "mine");
  EXPECT_EQ(folder.entries(), 3);
}

TEST(ConvertFiles, DryRunWritesNothing) {
  const Sharded model;
  ConvertArgs args = model.args;
  args.dry_run = true;
  args.output = "/nowhere/at/all";
  const Result<Conversion> done = convert(args);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->tensors.size(), 8U);
  EXPECT_EQ(done->checked_heads, 0);
  EXPECT_EQ(model.folder.entries(), 1);
  EXPECT_THAT(describe(*done), HasSubstr("8 tensors change their rows"));
  EXPECT_THAT(to_json(*done), HasSubstr("\"part\": \"queries\""));
}

// A file that may not grow beyond some KiB: the error says so, what is there stays, and the next run ends.
TEST(ConvertFiles, DiskIsFull) {
  const std::vector<std::string> expected = converted_at_once();
  const Sharded model;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 6000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string words = refusal(model.args);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  EXPECT_THAT(words, HasSubstr("File too large"));
  EXPECT_THAT(words, HasSubstr("goes on from there"));
  EXPECT_FALSE(fs::exists(model.args.output));
  EXPECT_EQ(refusal(model.args), "");
  EXPECT_EQ(contents(model.args.output), expected);
}

// ---- hostile files ----

TEST(ConvertFiles, HostileHeaders) {
  const TemporaryFolder folder;
  folder.file("config.json", kSmallLlama);
  const std::string good = safetensors_of(small_llama());
  const auto refused = [&](const std::string& bytes) {
    const fs::path path = folder.file("model.safetensors", bytes);
    return refusal({.source = path, .output = folder.path() / "out", .to = Pairing::interleaved});
  };
  EXPECT_EQ(refused(good), "");
  fs::remove(folder.path() / "out");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  EXPECT_NE(refused(good.substr(0, good.size() - 1)), "");
  EXPECT_NE(refused(good.substr(0, 100)), "");
  EXPECT_NE(refused(good + "x"), "");
  EXPECT_NE(refused(std::string(8, '\xff') + good.substr(8)), "");
  EXPECT_NE(refused(changed("[0,1024]", "[0,1023]")), "");                                    // overlap or gap
  EXPECT_NE(refused(changed("[16,32]", "[99,99]")), "");                                      // more than its bytes
  EXPECT_NE(refused(changed("layers.0.self_attn.k_proj", "layers.1.self_attn.k_proj")), "");  // a name twice
  EXPECT_EQ(folder.entries(), 2);
  EXPECT_EQ(refused(changed("\"BF16\"", "\"ZZ16\"")), "") << "a type that is not known is copied as it is";
}

// Whatever a byte of a header becomes, the answer is a plan of the work or an error.
TEST(ConvertFiles, FlippedBytesOfHeaders) {
  const TemporaryFolder folder;
  folder.file("config.json", kSmallLlama);
  const std::string good = safetensors_of(small_llama(true));
  const auto header = static_cast<std::size_t>(static_cast<unsigned char>(good[0])) +
                      256 * static_cast<std::size_t>(static_cast<unsigned char>(good[1]));
  std::mt19937 source(7);
  int refused = 0;
  constexpr int kFlips = 400;
  for (int i = 0; i < kFlips; ++i) {
    std::string bytes = good;
    char& byte = bytes[source() % (header + 8)];
    byte = static_cast<char>(byte ^ (1 << (source() % 8)));
    const fs::path path = folder.file("model.safetensors", bytes);
    refused += refusal({.source = path, .to = Pairing::interleaved, .dry_run = true}).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, kFlips / 2);
  EXPECT_EQ(folder.entries(), 2);
}

TEST(ConvertFiles, ShardsThatContradictTheirIndex) {
  std::vector<SmallTensor> tensors = small_llama(true);
  const Sharded model(tensors);
  // The second shard has what the first has: loaders disagree which is meant.
  std::vector<SmallTensor> second(tensors.begin() + std::ssize(tensors) / 2, tensors.end());
  second.push_back(tensors[1]);
  model.folder.file("model/model-00002-of-00002.safetensors", safetensors_of(second));
  EXPECT_THAT(refusal(model.args), HasSubstr(tensors[1].name));
  EXPECT_EQ(model.folder.entries(), 1);
  fs::remove(model.source / "model-00002-of-00002.safetensors");
  EXPECT_THAT(refusal(model.args), HasSubstr("No such file"));
  EXPECT_EQ(model.folder.entries(), 1);
}

TEST(ConvertFiles, SizesThatDoNotFitThePlan) {
  for (const std::int64_t rows : {0, 1, 24, 31, 33, 64}) {
    std::vector<SmallTensor> tensors = small_llama();
    SmallTensor& q = *std::ranges::find(tensors, "model.layers.1.self_attn.q_proj.weight", &SmallTensor::name);
    q = numbers(q.name, {rows, 32}, 4);
    const Sharded model(tensors);
    EXPECT_THAT(refusal(model.args), HasSubstr("expected 32 rows, 4 heads of 8")) << rows;
    EXPECT_EQ(model.folder.entries(), 1);
  }
}

// ---- the check of scores can fail ----

TEST(ConvertFiles, RowsInAnotherOrderFailTheCheck) {
  const std::vector<SmallTensor> tensors = small_llama();
  const auto opened = [](const fs::path& path) {
    auto out = std::make_unique<io::OpenTensorFile>(path.native(), TensorFormat::safetensors);
    out->sources.emplace_back(std::move(*io::RegularFile::open(path)));
    out->list = *io::list_tensors(out->sources.front(), TensorFormat::safetensors, false);
    return out;
  };
  const TemporaryFolder folder;
  const auto before = opened(folder.file("before.safetensors", safetensors_of(tensors)));
  // Layer 0: k is entry 1, q entry 3. Rows of 64 bytes.
  conversion::RowMoves moves;
  const auto heads = [](bool keys, std::int64_t count) {
    conversion::HeadRows out{.keys = keys, .starts = {}, .channels = 8, .first_channel = 0, .dim = 8};
    for (std::int64_t i = 0; i < count; ++i) out.starts.push_back(8 * i);
    return out;
  };
  moves.moves.push_back({.entry = 1, .part = ConvertedPart::keys, .row_bytes = 64, .heads = {heads(true, 2)}});
  moves.moves.push_back({.entry = 3, .part = ConvertedPart::queries, .row_bytes = 64, .heads = {heads(false, 4)}});
  moves.attentions.push_back({"model.layers.0.self_attn.", {0, 1}});
  const conversion::Pairings pairings{Pairing::half, Pairing::interleaved};
  const auto checked = [&](std::vector<SmallTensor> after) {
    const auto file = opened(folder.file("after.safetensors", safetensors_of(after)));
    return conversion::check_scores(*before, *file, moves, pairings, {});
  };
  std::vector<SmallTensor> after = tensors;
  EXPECT_FALSE(checked(after).ok()) << "nothing moved";
  after[1].data = interleaved(after[1].data, 64, {.heads = 2, .between = 8, .dim = 8});
  EXPECT_FALSE(checked(after).ok()) << "keys alone";
  after[3].data = interleaved(after[3].data, 64, {.heads = 4, .between = 8, .dim = 8});
  const Result<conversion::CheckedScores> right = checked(after);
  ASSERT_TRUE(right.ok()) << right.error().message();
  EXPECT_EQ(right->heads, 3);
  EXPECT_LE(right->difference, right->bound);
  EXPECT_LT(right->bound, 1e-14);
  std::vector<SmallTensor> twice = after;
  twice[3].data = interleaved(twice[3].data, 64, {.heads = 4, .between = 8, .dim = 8});
  EXPECT_FALSE(checked(twice).ok()) << "queries permuted twice";
  std::vector<SmallTensor> one_bit = after;
  one_bit[3].data[1] = static_cast<char>(one_bit[3].data[1] ^ 1);  // of head 0, which is always looked at
  EXPECT_FALSE(checked(one_bit).ok()) << "one bit of a number";
}

// ---- memory ----

// A tensor of 24 MiB among small ones: what the heap grows by does not follow it.
TEST(ConvertFiles, MemoryDoesNotFollowTheTensor) {
  constexpr std::int64_t kWide = std::int64_t{96} << 10;  // numbers of a row: heads of 8 rows of 384 KiB, then of 6 MiB
  const TemporaryFolder folder;
  folder.file("config.json", R"({"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 1, "max_position_embeddings": 64})");
  const std::string at = "model.layers.0.self_attn.";
  const fs::path source = folder.file(
      "m.safetensors", safetensors_of({any_bytes(at + "q_proj.weight", "F32", {32, 2 * kWide}, 8 * kWide, 1),
                                       any_bytes(at + "k_proj.weight", "F32", {16, 2 * kWide}, 8 * kWide, 2),
                                       any_bytes(at + "v_proj.weight", "F32", {16, 2 * kWide}, 8 * kWide, 3)}));
  EXPECT_GT(fs::file_size(source), std::uintmax_t{48} << 20);
  const HeapProbe heap;
  ASSERT_EQ(refusal({.source = source, .output = folder.path() / "out", .to = Pairing::interleaved}), "");
  EXPECT_LT(heap.peak_growth(), std::int64_t{12} << 20);
}

}  // namespace
}  // namespace posenc::test
