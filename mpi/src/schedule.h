// Which rows of the keys a rank needs, of whom and in which order, and who needs which of its own.
//
// Keys travel in pieces, 4 of the largest rank's block (3 where these would have fewer rows than part_rows), so that a
// rank that holds the piece that it computes on and as many as a block ahead holds no more than two, and what is left
// to be computed when all has come is a piece. Rank r takes the keys of rank r, as they are, then those of r - 1 and so
// on. Of schemes that sum along the keys, pieces are of runs of neighbouring rows, and come to all that need them from
// the last to the first; on the way back from the first to the last.
#pragma once

#include <cstdint>
#include <vector>

namespace posenc::mpi_library {

struct RingCall;

// Neighbouring rows of one owner that travel together.
struct Piece {
  int owner = 0;
  std::int64_t first = 0;  // among the owner's rows
  std::int64_t count = 0;
};

// A piece of this rank's, that is taken by some rank, or by itself, in some turn.
struct Taking {
  std::int64_t turn = 0;
  int rank = 0;
  Piece piece{};
};

struct Schedule {
  std::int64_t parts = 0;       // of the largest block
  std::int64_t piece_rows = 0;  // of what travels, at most
  std::vector<Piece> needed{};  // by this rank, in order
  std::vector<Taking> taken{};  // by turns; in each, by this rank first, then in the order of ranks

  Schedule(const RingCall& call, bool is_backward);
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

 private:
  void in_runs(const RingCall& call, bool is_backward);
  void in_blocks(const RingCall& call);
  void add(const RingCall& call, std::int64_t turn, int taker, const Piece& piece);
  std::int64_t parts_of(std::int64_t rows) const;
  std::vector<Piece> cut(const Piece& whole) const;
};

}  // namespace posenc::mpi_library
