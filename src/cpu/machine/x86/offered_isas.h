// Which instruction sets a processor is offered, and which of them is best there. Apart from CPUID, so that tests can
// ask it about processors that they do not run on.
#pragma once

#include <string>
#include <vector>

#include "posenc/info.h"

namespace posenc::cpu {

struct Processor {
  std::vector<std::string> features;  // names of processor_features()
  bool is_amd = false;
  bool has_tiles = false;  // wanted, and not refused by the operating system
};

// Worst first. The order is the vendor's: VDPBF16PS does twice the FMAs of f32 on AMD's processors, so avx512_bf16 is
// best there; on others half of them (docs/performance.md), and it stands before avx512. Tiles are last.
std::vector<Isa> offered_isas(const Processor& processor);

}  // namespace posenc::cpu
