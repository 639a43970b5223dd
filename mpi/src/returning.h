// Gradients of a rank's own keys, which others make and send back. Two pieces of them are on their way or here at a
// time, however many ranks make some at once; they are added in the order of the turns, whenever they come.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "ring_messages.h"

namespace posenc::mpi_library {

// Gradients of the rows of a piece, f32: of k, v and gates, of those that are asked for.
struct OfKeys {
  std::vector<std::vector<float>> tensors{};
  Requests requests{};
};

// Where gradients of all the rank's keys go, f32, and how many numbers a row has.
struct GradientRows {
  float* data;
  std::int64_t width;
  std::int64_t row_bytes() const { return width * std::int64_t{sizeof(float)}; }
};

class Returning {
 public:
  // Asks for the first.
  Returning(const RingCall& call, const Schedule& schedule, std::vector<GradientRows> own);

  OfKeys room(const Piece& piece) const;
  // What this rank has made of a piece: added in its turn, if it is the rank's own, else on its way to the owner.
  void give(const Piece& piece, OfKeys made);
  // Adds what has come, and asks for what comes next; as often as MPI is to move.
  void advance();
  // Until what was given before has left, or until all has.
  void wait_for_leaving();
  void finish();

  std::int64_t sent = 0;  // bytes

 private:
  struct Awaited {
    const Piece* piece;
    int from;
    bool is_here = false;   // what this rank makes itself
    bool is_asked = false;  // of another
    OfKeys gradients{};
  };
  void ask();
  void add(const Awaited& one);

  const RingCall& call_;
  std::vector<GradientRows> own_;
  std::deque<Awaited> awaited_;  // in the order in which they are added
  OfKeys leaving_;
};

}  // namespace posenc::mpi_library
