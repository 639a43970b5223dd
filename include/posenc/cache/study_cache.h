// A model's KV cache: how large it is in each format, what may be done with it, and what shifting it leaves of its
// keys.
//
//   const CacheStudy study = study_cache(preset_plan("llama-3.1-8b"), {.simulate = true});
//   report(describe(study));
//
// Verdicts: cache/reuse.h. docs/cache.md defines the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/cache/reuse.h"
#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {

// Formats in which engines keep keys and values. int8: symmetric, a scale in f32 for each token and head; q8_0, q5_1
// and q4_0 are ggml's blocks of 32, whose scales (and least values) are f16.
enum class KvFormat : std::uint8_t { f32, f16, bf16, fp8_e4m3, fp8_e5m2, int8, q8_0, q5_1, q4_0 };
inline constexpr std::int64_t kKvFormats = 9;
POSENC_API std::string_view name(KvFormat format) noexcept;

struct CacheStudyOptions {
  std::optional<std::string> stack{};  // its name; omitted: the first that decodes, else that caches
  // Shift keys of each kind of layer again and again, `shift_by` positions at a time.
  bool simulate = false;
  std::int64_t shift_by = 1;  // 1 to 2^20
};

struct KvFormatBytes {
  KvFormat format = KvFormat::f32;
  std::optional<double> bytes{};  // of a token; nothing: a head is no whole number of blocks
  bool operator==(const KvFormatBytes&) const = default;
};

struct OperationVerdict {
  CacheOperation operation = CacheOperation::shift;
  StoredKeys keys = StoredKeys::unrotated;
  ReuseVerdict verdict;
  bool operator==(const OperationVerdict&) const = default;
};

// Keys against those of exact arithmetic, at the positions that they have come to: the root of the mean square
// difference over that of the keys. Of keys drawn from a normal distribution, 16 tokens of one head.
struct SimulatedShifts {
  KvFormat format = KvFormat::f32;
  double unrotated = 0.0;       // after any number of shifts: what storing took
  std::vector<double> rotated;  // after CacheStudy::shifts of them, rotated and stored again each time
  bool operator==(const SimulatedShifts&) const = default;
};

// Layers that cache alike, and of which the same is to be said.
struct CacheGroup {
  LayerRun layers;
  LayerKind kind = LayerKind::attention;
  // Numbers of a token (of cross attention, of the encoder's); 0: a state, whose size no plan says, or another layer's
  // cache.
  std::int64_t keys = 0;
  std::int64_t values = 0;
  std::optional<std::int64_t> kept{};   // tokens at most, of a sliding window
  std::optional<std::int64_t> owner{};  // the block whose cache it is
  bool expanded = false;             // latent attention, whose cache is smaller where the latent vector is kept instead
  std::vector<KvFormatBytes> bytes;  // of a layer
  std::vector<OperationVerdict> verdicts;  // of the last of them, which has most below it
  std::vector<SimulatedShifts> shifts;     // of its first rotation; none where nothing rotates, or not asked for
  bool operator==(const CacheGroup&) const = default;
};

struct CacheStudy {
  std::string model;
  std::string stack;
  std::vector<CacheGroup> groups;
  std::vector<KvFormatBytes> bytes;  // of a token of this stack, all layers that keep one
  // Of a token of the encoder, all layers of cross attention: they are as many for any number of decoded tokens. Empty
  // where there is no such layer.
  std::vector<KvFormatBytes> encoder_bytes;
  std::vector<std::int64_t> shifts;  // how many: 0, 1, 4, 16, 64, 256, 1000; empty: not simulated
  std::int64_t shift_by = 1;
  bool operator==(const CacheStudy&) const = default;
};

// Throws Error as reuse_verdict does, and for a shift_by out of range.
POSENC_API CacheStudy study_cache(const Plan& plan, const CacheStudyOptions& options = {});

// Tables and sentences; plain ASCII, lines of at most 80 columns.
POSENC_API std::string describe(const CacheStudy& study);

// JSON as docs/cache.schema.json says.
POSENC_API std::string to_json(const CacheStudy& study);
POSENC_API std::string to_json(const ReuseVerdict& verdict);

}  // namespace posenc::inline v0_2
