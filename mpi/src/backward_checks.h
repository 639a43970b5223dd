// What attend_ring_backward is given, checked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "posenc/mpi.h"
#include "ring_call.h"

namespace posenc::mpi_library {

// Of d_weights: numbers of each, one after another.
struct Learned {
  std::vector<std::vector<std::int64_t>> shapes{};
  std::vector<std::vector<double>> numbers{};
  std::vector<NamedGradient> named{};

  Learned(const RingCall& call, std::span<const NamedGradient> asked);
  Learned(const Learned&) = delete;
  Learned& operator=(const Learned&) = delete;
};

// Throws Error for what this rank refuses, else digests what all must have alike.
std::int64_t backward_digest(const RingCall& call, const mpi::RingBackwardArgs& args);

}  // namespace posenc::mpi_library
