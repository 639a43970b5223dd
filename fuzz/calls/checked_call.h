// What must hold of any call, whatever its arguments: it comes back, or it throws Error with a message that is safe to
// print and nothing has been written.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/calls/arguments.h"
#include "fuzz/calls/slots.h"
#include "fuzz/target.h"
#include "posenc/error.h"
#include "posenc/info.h"
#include "posenc/parallel.h"

namespace posenc::fuzz {

enum class Outcome : std::uint8_t { refused, cancelled, done };

// `call` answers as rotate does. What it throws but Error ends the process.
template <typename Call>
Outcome outcome_of(const Slots& slots, const Call& call) {
  try {
    return call() ? Outcome::done : Outcome::cancelled;
  } catch (const Error& error) {
    must_be_safe_to_print(error.what());
    must(slots.are_untouched(), "a call that is refused writes nothing");
    return Outcome::refused;
  }
}

// One that the machine has; once in a while any number.
Isa isa_of(Arguments& arguments);
// Mostly the calling thread alone, or an executor's that does the last task first; once in a while any number.
Parallel parallel_of(Arguments& arguments);
// Tasks from the last to the first, on the calling thread, as if on three.
Executor backwards();

// Nothing of an accepted call is both written and read, but what is read and written at one place.
void must_be_apart(std::span<const TensorView> written, std::span<const ConstTensorView> read);

}  // namespace posenc::fuzz
