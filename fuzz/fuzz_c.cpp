// The functions of posenc/c.h: a status that there is, and for every status but POSENC_OK a message that is safe to
// print and nothing written. What the C++ call takes, C takes, and writes the same bits; what it refuses, C refuses.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "fuzz/calls/attend_call.h"
#include "fuzz/calls/c_structs.h"
#include "fuzz/calls/cache_call.h"
#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/calls/rotate_call.h"
#include "fuzz/target.h"

namespace posenc::fuzz {
namespace {

using Bits = std::vector<std::vector<std::byte>>;

// The message of a failure; "" of a success.
void must_be_explained(posenc_status status) {
  must(status == POSENC_OK || status == POSENC_WRONG_ARGUMENT || status == POSENC_CANCELLED,
       "a call with wrong arguments says so, and nothing else goes wrong");
  const std::string message = posenc_last_error();
  if (status == POSENC_OK) return must(message.empty(), "a success leaves no message");
  must_be_safe_to_print(message);
}

// Members of C alone made wrong; mostly none. Memory is the caller's promise: counts become smaller at most, and types
// such as there are not.
template <typename Args>
bool spoil(Arguments& arguments, Args& args) {
  if (arguments.spoils() == 0) return false;
  const auto number = [&] { return static_cast<std::int32_t>(arguments.odd_whole()); };
  const auto no_type = [&] { return arguments.chance(128) ? number() | 0x10000 : -1 - arguments.byte(); };
  switch (arguments.byte() % 6) {
    case 0: args.size = static_cast<std::size_t>(arguments.odd_whole()); return true;
    case 1: args.cu_seqlens_count = -1; return true;
    case 2: args.positions.type = no_type(); return true;
    case 3: args.positions.reserved = number(); return true;
    case 4: args.positions.count = std::min<std::int64_t>(arguments.odd_whole(), args.positions.count); return true;
    default: args.k.dtype = no_type(); return true;
  }
}

template <>
bool spoil(Arguments& arguments, posenc_attend_args& args) {
  static constexpr std::array kNames{"", "encoder", "\x1b[31m\n", "decoder"};
  if (arguments.spoils() == 0) return false;
  const auto number = [&] { return static_cast<std::int32_t>(arguments.odd_whole()); };
  switch (arguments.byte() % 8) {
    case 0: args.size = static_cast<std::size_t>(arguments.odd_whole()); return true;
    case 1: args.stack = arguments.choice(kNames); return true;
    case 2: args.layer = arguments.odd_whole(); return true;
    case 3: args.plan = nullptr; return true;
    case 4: args.weights_count = -1; return true;
    case 5: args.angles = number(); return true;
    case 6: args.products = number(); return true;
    default: args.q.rank = number(); return true;
  }
}

// `by_c` of arguments that say what `by_cpp` has, or of spoilt ones.
template <typename ByC, typename ByCpp, typename Written>
void must_be_alike(const Slots& slots, bool is_spoilt, const ByC& by_c, const ByCpp& by_cpp, const Written& written) {
  const posenc_status status = by_c();
  must_be_explained(status);
  if (status != POSENC_OK) must(slots.are_untouched(), "a call that fails writes nothing");
  if (status == POSENC_OK) must(slots.are_untouched_but(written()), "nothing beside outputs is written");
  if (is_spoilt) return;
  const Bits by_c_bits = status == POSENC_OK ? bytes_in_each(written()) : Bits{};
  slots.restore();
  const bool is_done = outcome_of(slots, by_cpp) == Outcome::done;
  must(is_done == (status == POSENC_OK), "C takes what C++ takes");
  if (is_done) must(bytes_in_each(written()) == by_c_bits, "C and C++ write the same bits");
}

void call_rotate(Arguments& arguments, Slots& slots) {
  RotateCall call(arguments, slots);
  call.args.isa = Isa::automatic;
  slots.remember();
  CHandles handles;
  posenc_rotate_args args = handles.rotate_args(call.args);
  const bool is_spoilt = spoil(arguments, args);
  must_be_alike(
      slots, is_spoilt, [&] { return posenc_rotate(&args); }, [&] { return rotate(call.args); },
      [&] { return call.written(); });
}

void call_cache(Arguments& arguments, Slots& slots) {
  CacheCall call(arguments, slots);
  call.args.isa = Isa::automatic;
  slots.remember();
  CHandles handles;
  posenc_cache_args args = handles.cache_args(call.args);
  // Numbers for which C has no word: two of its flags are taken for any number but 0.
  const bool has_words = !call.args.norm || (call.args.norm->scheme.order <= QkNorm::Order::after &&
                                             call.args.norm->scheme.over <= QkNorm::Over::all_heads &&
                                             call.args.norm->scheme.weighted == !call.args.norm->weight.empty());
  const bool is_spoilt = spoil(arguments, args) || !has_words;
  must_be_alike(
      slots, is_spoilt, [&] { return posenc_rotate_into_cache(&args); }, [&] { return rotate_into_cache(call.args); },
      [&] { return call.written(); });
}

void call_attend(Arguments& arguments, Slots& slots) {
  AttendCall call(arguments, slots);
  call.args.isa = Isa::automatic;
  slots.remember();
  CHandles handles;
  auto args = handles.attend_args(call.layer, call.args);
  if (!args) return;
  const bool is_spoilt = spoil(arguments, *args) || call.args.inputs.length == 0;
  must_be_alike(
      slots, is_spoilt, [&] { return posenc_attend(&*args); }, [&] { return attend(call.layer, call.args); },
      [&] { return call.written(); });
}

// Tables, and rows of cos and sin; the numbers are those of other targets.
void call_tables(Arguments& arguments, Slots& slots) {
  const LayerPlan layer{.heads = 1, .kv_heads = 1, .rotate = {{.heads = 1, .scheme = rope_of(arguments)}}};
  CHandles handles;
  const posenc_plan* const plan = handles.plan(layer);
  const auto maybe = [&](std::int64_t usual) { return arguments.chance(32) ? arguments.odd_whole() : usual; };
  posenc_table_options options{};
  options.size = static_cast<std::size_t>(maybe(sizeof options));
  options.start = maybe(0);
  options.count = arguments.whole(0, 40);
  options.length = maybe(0);
  options.angles = static_cast<posenc_angles>(maybe(arguments.byte() % 3));
  posenc_table* table = nullptr;
  must_be_explained(posenc_table_of_layer(plan, nullptr, maybe(0), arguments.chance(64) ? nullptr : &options, &table));
  if (table == nullptr) {
    posenc_layout layout{};
    layout.size = static_cast<std::size_t>(maybe(sizeof layout));
    layout.pairing = static_cast<posenc_pairing>(maybe(1));
    layout.axes = static_cast<std::int32_t>(maybe(1));
    layout.head_dim = maybe(8);
    layout.first_channel = maybe(0);
    layout.dim = std::min<std::int64_t>(maybe(8), 8);  // as many as there are
    const std::array<double, 4> inv_freq{1.0, arguments.odd_real(), 0.1, 0.0};
    must_be_explained(
        posenc_table_of_frequencies(&layout, inv_freq.data(), arguments.chance(64) ? 1.25 : 1.0, &options, &table));
  }
  if (table == nullptr) return;
  posenc_layout layout{};
  layout.size = sizeof layout;
  must(posenc_table_layout(table, &layout) == POSENC_OK, "a table has a layout");
  const std::int64_t rows = arguments.whole(0, 9);
  const PositionList positions(arguments, rows * layout.axes, 0);
  const TensorView cos = slots.take(arguments, DType::f32, {rows, layout.dim / 2});
  const TensorView sin = slots.take(arguments, DType::f32, {rows, layout.dim / 2});
  slots.remember();
  const posenc_positions given = c_positions(positions.view());
  const bool is_packed = cos.strides[0] == layout.dim / 2 && sin.strides[0] == layout.dim / 2;
  if (is_packed && cos.data != nullptr && sin.data != nullptr) {
    const posenc_status status =
        posenc_cos_sin(table, &given, arguments.chance(32) ? arguments.whole(0, rows) - 1 : rows,
                       static_cast<float*>(cos.data), static_cast<float*>(sin.data));
    must_be_explained(status);
    const std::array written{cos, sin};
    must(slots.are_untouched_but(written), "nothing beside cos and sin is written");
    if (status != POSENC_OK) must(slots.are_untouched(), "a call that fails writes nothing");
  }
  posenc_table_free(table);
}

}  // namespace

void run_one(std::string_view bytes) {
  Arguments arguments(bytes);
  Slots slots;
  switch (arguments.byte() % 4) {
    case 0: return call_rotate(arguments, slots);
    case 1: return call_cache(arguments, slots);
    case 2: return call_attend(arguments, slots);
    default: return call_tables(arguments, slots);
  }
}

}  // namespace posenc::fuzz
