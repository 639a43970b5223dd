// rotate(): refused with nothing written, or each row is what the reference makes of it, all other memory is as it was,
// and the bits are the same by several threads, in place and elsewhere.
#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/calls/heads_rows.h"
#include "fuzz/calls/rotate_call.h"
#include "fuzz/calls/rotated_rows.h"
#include "fuzz/target.h"

namespace posenc::fuzz {
namespace {

void must_be_rotated(const RotateCall& call, const Slots& slots, const TensorView& x, const ConstTensorView& source) {
  const RotateArgs& args = call.args;
  for_rows(args, x, slots.remembered(source.empty() ? ConstTensorView(x) : source), [&](const Row& row) {
    const Rotation& rotation = call.rotation_of_sequence(args.tables.empty() ? 0 : row.sequence);
    const std::vector<double> coordinates =
        coordinates_of(args.positions, std::ssize(rotation.table.layout().axes.names), row.at);
    const std::vector<double> numbers = numbers_at(row.from, row.from_heads);
    const auto wanted = rotated_row(rotation, numbers, coordinates, args.direction);
    if (wanted) must_be_near(row, numbers, rotation.rope, *wanted);
  });
}

// The same call by other threads, which must have the same bits.
void must_repeat(const RotateCall& call, const Slots& slots) {
  const auto before = bytes_in_each(call.written());
  slots.restore();
  RotateArgs again = call.args;
  again.parallel = {.executor = backwards()};
  again.keep_going = [] { return true; };
  must(rotate(again), "a call that is let go on comes to its end");
  must(bytes_in_each(call.written()) == before, "three threads give the bits of one");
}

}  // namespace

void run_one(std::string_view bytes) {
  Arguments arguments(bytes);
  Slots slots;
  const RotateCall call(arguments, slots);
  slots.remember();
  if (outcome_of(slots, [&] { return rotate(call.args); }) != Outcome::done) return;
  must(slots.are_untouched_but(call.written()), "nothing beside the elements of q and k is written");
  must_be_apart(call.written(), call.read());
  if (slots.are_calm()) {
    must_be_rotated(call, slots, call.args.q, call.args.q_from);
    must_be_rotated(call, slots, call.args.k, call.args.k_from);
  }
  must_repeat(call, slots);
}

}  // namespace posenc::fuzz
