// The GGUF reader, and read_plan() from a GGUF file's bytes: a header or a sound error, the same from memory and from a
// stream that comes in pieces, within bounded memory whatever the counts say.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

#include "fuzz/plan_checks.h"
#include "fuzz/target.h"
#include "io/gguf/gguf.h"
#include "posenc/read_plan.h"
#include "support/heap_probe.h"

namespace posenc::fuzz {
namespace {

using io::ByteCursor;
using io::GgufHeader;

constexpr std::string_view kName = "model.gguf";
constexpr std::uint64_t kChecks = 4;  // one of as many inputs is read as a stream, too

io::GgufKeep everything() {
  const auto all = [](std::string_view) { return true; };
  return {.key = all, .model_key = all, .tensor = all};
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// But for what NaN makes unequal to itself.
bool same(const io::GgufValue& a, const io::GgufValue& b) {
  return a.key == b.key && a.offset == b.offset && a.type == b.type && a.element == b.element && a.count == b.count &&
         a.text == b.text &&
         std::equal(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(),
                    [](const io::GgufNumber& x, const io::GgufNumber& y) {
                      return same_bits(x.real, y.real) && x.integer == y.integer;
                    });
}

void must_lie_in_the_file(const GgufHeader& header, std::uint64_t size) {
  // Where no tensor has any weights, the padding before them may be missing.
  must(header.data_offset <= size + header.alignment, "the weights start in the file");
  must(header.values.size() <= std::min<std::uint64_t>(header.key_count, io::kMaxGgufKept), "few keys are kept");
  must(header.tensors.size() <= std::min<std::uint64_t>(header.tensor_count, io::kMaxGgufKept), "few tensors are kept");
  for (const io::GgufValue& value : header.values) must(value.offset <= size, "a value lies in the file");
  for (const io::GgufTensor& tensor : header.tensors) must(tensor.at <= size, "a tensor's entry lies in the file");
}

void read_tensors(ByteCursor& cursor, const GgufHeader& header, std::string_view bytes) {
  for (const io::GgufTensor& tensor : header.tensors) {
    const Result<std::vector<double>> numbers = io::read_gguf_tensor(cursor, header, tensor);
    if (!numbers) return must_be_sound(numbers.error(), bytes, kName);  // it sticks to the cursor
    must(numbers->size() == tensor.elements, "a tensor has as many numbers as its shape says");
    must(std::all_of(numbers->begin(), numbers->end(), [](double x) { return std::isfinite(x); }),
         "numbers are finite");
  }
}

// The header through a stream whose reads end where they like.
Result<GgufHeader> read_in_pieces(std::string_view bytes, std::uint64_t choice) {
  std::size_t at = 0;
  ByteCursor stream(
      [&](char* to, std::size_t count) -> std::ptrdiff_t {
        const std::size_t piece = std::min({count, bytes.size() - at, static_cast<std::size_t>(1 + choice % 97)});
        std::memcpy(to, bytes.data() + at, piece);
        at += piece;
        return static_cast<std::ptrdiff_t>(piece);
      },
      std::string(kName));
  return io::read_gguf_header(stream, everything());
}

void must_be_the_same_from_a_stream(const GgufHeader& header, std::string_view bytes, std::uint64_t choice) {
  const Result<GgufHeader> streamed = read_in_pieces(bytes, choice);
  must(streamed.ok(), "a file that reads from memory reads from a stream");
  must(std::equal(header.values.begin(), header.values.end(), streamed->values.begin(), streamed->values.end(), same),
       "a stream gives the same values");
  must(header.tensors.size() == streamed->tensors.size(), "a stream gives as many tensors");
}

void read_header(std::string_view bytes, std::uint64_t choice) {
  ByteCursor cursor(bytes, std::string(kName));
  const test::HeapProbe probe;
  const Result<GgufHeader> header = io::read_gguf_header(cursor, everything());
  const auto bound = test::file_heap_bound(static_cast<std::int64_t>(bytes.size()));
  must(probe.peak_growth() <= bound, "reading takes at most 64 bytes per byte and 1 MiB");
  if (!header) return must_be_sound(header.error(), bytes, kName);
  must_lie_in_the_file(*header, bytes.size());
  read_tensors(cursor, *header, bytes);
  if (choice % kChecks == 0) must_be_the_same_from_a_stream(*header, bytes, choice / kChecks);
}

}  // namespace

void run_one(std::string_view bytes) {
  const std::uint64_t choice = hash(bytes);
  read_header(bytes, choice);
  const test::HeapProbe probe;
  const Result<Plan> plan = read_plan(std::as_bytes(std::span(bytes.data(), bytes.size())), kName);
  const auto bound = test::file_heap_bound(static_cast<std::int64_t>(bytes.size()));
  must(probe.peak_growth() <= bound, "a plan takes at most 64 bytes per byte and 1 MiB");
  if (!plan) return must_be_sound(plan.error(), bytes, kName);
  must_have_frequencies(*plan);
  if ((choice >> 32) % kChecks == 0) must_be_usable(*plan);
  if ((choice >> 32) % kChecks == 1) must_describe(*plan);
}

}  // namespace posenc::fuzz
