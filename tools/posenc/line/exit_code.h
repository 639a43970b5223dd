// What `posenc` tells the shell. docs/cli.md has the same table.
// 70 is EX_SOFTWARE of sysexits.h. A process that a signal ends has none of these: shells make it 128 + the signal.
#pragma once

namespace posenc::tool {

enum ExitCode : int {
  kOk = 0,         // warnings too
  kJudged = 1,     // a command that was asked to judge found something: compare, --strict, demo
  kUsage = 2,      // unknown flag, bad value
  kFile = 3,       // cannot read or write
  kMalformed = 4,  // malformed, mathematically impossible, or over a limit
  kNoMemory = 5,
  kRowOrder = 6,   // compare: the same but for the rows that a conversion to GGUF puts in another order
  kCannotTell = 7,  // diagnose: what holds and what would be wrong look the same in these tensors
  kInternal = 70,  // posenc itself is wrong
};

}  // namespace posenc::tool
