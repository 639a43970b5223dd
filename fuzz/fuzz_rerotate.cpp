// rerotate(): refused with nothing written, or each row is what the reference makes of it, back from where it was and
// to where it is to be, and all other memory is as it was.
#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/calls/heads_rows.h"
#include "fuzz/calls/rotate_call.h"
#include "fuzz/calls/rotated_rows.h"
#include "fuzz/target.h"

namespace posenc::fuzz {
namespace {

// A call of rotate says where keys were; what else there is says where they are to be.
class RerotateCall {
 public:
  RerotateCall(Arguments& arguments, Slots& slots)
      : from_(arguments, slots),
        to_(rotation_of(arguments, from_.rotation_of_sequence(0).rope)),
        positions_(arguments, from_.positions_count(), to_.options.start) {
    const RotateArgs& from = from_.args;
    args = {.k = from.k.empty() ? from.q : from.k,
            .k_from = from.k.empty() ? from.q_from : from.k_from,
            .from_table = from.table,
            .from_positions = from.positions,
            .to_table = &to_.table,
            .to_positions = positions_.view(),
            .cu_seqlens = from.cu_seqlens,
            .k_pages = from.k_pages,
            .from_tables = from.tables,
            .parallel = from.parallel,
            .isa = from.isa};
    if (!from.tables.empty()) {
      to_tables_.assign(from.tables.size() - (arguments.chance(8) ? 1 : 0), &to_.table);
      args.to_table = nullptr;
      args.to_tables = to_tables_;
    }
    if (arguments.chance(8)) args.to_table = nullptr;
  }

  RerotateArgs args;

  void must_be_rerotated(const Slots& slots) const {
    RotateArgs rows = from_.args;
    rows.q = {};
    rows.k = args.k;
    for_rows(rows, args.k, slots.remembered(args.k_from.empty() ? ConstTensorView(args.k) : args.k_from),
             [&](const Row& row) {
               const Rotation& from = from_.rotation_of_sequence(args.from_tables.empty() ? 0 : row.sequence);
               const std::int64_t axes = std::ssize(to_.table.layout().axes.names);
               const std::vector<double> numbers = numbers_at(row.from, row.from_heads);
               const auto wanted = rerotated_row(from, coordinates_of(args.from_positions, axes, row.at), to_,
                                                 coordinates_of(args.to_positions, axes, row.at), numbers);
               if (wanted) must_be_near(row, numbers, to_.rope, *wanted);
             });
  }

 private:
  RotateCall from_;
  Rotation to_;
  PositionList positions_;
  std::vector<const RotaryTable*> to_tables_;
};

}  // namespace

void run_one(std::string_view bytes) {
  Arguments arguments(bytes);
  Slots slots;
  const RerotateCall call(arguments, slots);
  slots.remember();
  if (outcome_of(slots, [&] { return rerotate(call.args); }) != Outcome::done) return;
  const std::vector<TensorView> written{call.args.k};
  must(slots.are_untouched_but(written), "nothing beside the elements of k is written");
  if (!call.args.k_from.empty()) must_be_apart(written, std::array{call.args.k_from});
  if (slots.are_calm()) call.must_be_rerotated(slots);
  const std::vector<std::byte> before = bytes_in(call.args.k);
  slots.restore();
  RerotateArgs again = call.args;
  again.parallel = {.executor = backwards()};
  again.keep_going = [] { return true; };
  must(rerotate(again), "a call that is let go on comes to its end");
  must(bytes_in(call.args.k) == before, "three threads give the bits of one");
}

}  // namespace posenc::fuzz
