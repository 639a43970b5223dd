// rotate_into_cache(): refused with nothing written, or each key is what the reference makes of it, each value is what
// was given, rows without a slot and all other memory are as they were.
#include <algorithm>
#include <cmath>

#include "fuzz/calls/cache_call.h"
#include "fuzz/calls/cached_key.h"
#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/calls/heads_rows.h"
#include "fuzz/target.h"
#include "rotate/cache_tensors.h"

namespace posenc::fuzz {
namespace {

// Of every token that has a slot: its number, its heads as numbers, and its row of the cache.
template <typename Visit>
void for_stored(const CacheArgs& args, const ConstTensorView& x, const TensorView& cache, const Visit& visit) {
  if (count_of(x) == 0) return;
  const std::int64_t tokens = x.rank == 4 ? x.shape[2] : x.shape[0];
  for (std::int64_t n = 0; n < std::ssize(args.slots); ++n) {
    const std::int64_t slot = args.slots[static_cast<std::size_t>(n)];
    if (slot < 0) continue;
    visit(n, numbers_at(x, heads_at(x, n / tokens, n % tokens, false)), row_of_cache(cache, slot));
  }
}

// What is too small for a float is off by up to 2^-150: the factor of a norm, times a channel (below 2^4), a weight
// (below 2^3) and the rotation of both channels of a pair (below 2^3), and each of these products by itself.
constexpr double kVanished = 0x1p-139;

void must_be_stored(const TensorView& row, std::span<const double> values, std::span<const double> errors) {
  const double largest = row.dtype == DType::f16 ? 65000.0 : 1e37;
  std::size_t n = 0;
  for_offsets(row, [&](std::int64_t offset) {
    const double wanted = values[n];
    const double bound = test::stored_error(row.dtype, wanted, errors[n++] + kVanished);
    if (!(std::abs(wanted) + bound < largest)) return;
    must(std::abs(reference::read(row, offset) - wanted) <= bound, "a row of the cache is what the reference says");
  });
}

void must_be_stored(const CacheCall& call, const Slots& slots) {
  const CacheArgs& args = call.args;
  const Rotation* const rotation = args.table != nullptr ? &call.rotation() : nullptr;
  const double lanes = test::lanes_of(args.isa == Isa::automatic ? selected_isa() : args.isa);
  std::optional<KeyNorm> norm = args.norm;
  if (norm) {
    norm->weight = slots.remembered(norm->weight);
    norm->bias = slots.remembered(norm->bias);
  }
  const ConstTensorView k = slots.remembered(args.k);
  const std::int64_t tokens = k.rank == 4 ? k.shape[2] : k.shape[0];
  for_stored(args, k, args.k_cache, [&](std::int64_t n, const std::vector<double>& x, const TensorView& row) {
    std::vector<double> coordinates;
    if (rotation != nullptr) {
      const auto middle = args.cu_seqlens.size() == 3 ? args.cu_seqlens[1] : 0;
      const TokenPlace at{.row = n,
                          .rows = std::ssize(args.slots),
                          .token = n % tokens,
                          .tokens = tokens,
                          .counted = n % tokens - (n >= middle ? middle : 0)};
      coordinates = coordinates_of(args.positions, std::ssize(rotation->table.layout().axes.names), at);
    }
    if (!norm && rotation == nullptr) return must_be_stored(row, x, std::vector<double>(x.size()));
    const auto wanted = cached_key(x, row.shape[1], norm, rotation, coordinates, lanes);
    if (wanted) must_be_stored(row, wanted->values, wanted->errors);
  });
  for_stored(args, slots.remembered(args.v), args.v_cache,
             [](std::int64_t, const std::vector<double>& x, const TensorView& row) {
               must_be_stored(row, x, std::vector<double>(x.size()));
             });
}

}  // namespace

void run_one(std::string_view bytes) {
  Arguments arguments(bytes);
  Slots slots;
  const CacheCall call(arguments, slots);
  slots.remember();
  if (outcome_of(slots, [&] { return rotate_into_cache(call.args); }) != Outcome::done) return;
  must(slots.are_untouched_but(call.written()), "nothing beside the rows that have slots is written");
  must_be_apart(std::array{call.args.k_cache, call.args.v_cache}, call.read());
  if (slots.are_calm()) must_be_stored(call, slots);
  const auto before = bytes_in_each(call.written());
  slots.restore();
  CacheArgs again = call.args;
  again.parallel = {.executor = backwards()};
  again.keep_going = [] { return true; };
  must(rotate_into_cache(again), "a call that is let go on comes to its end");
  must(bytes_in_each(call.written()) == before, "three threads give the bits of one");
}

}  // namespace posenc::fuzz
