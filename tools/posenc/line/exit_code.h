// What `posenc` tells the shell. docs/cli.md has the same table.
#pragma once

namespace posenc::tool {

enum ExitCode : int {
  kOk = 0,         // warnings too
  kJudged = 1,     // a command that was asked to judge found something: compare, --strict, demo
  kUsage = 2,      // unknown flag, bad value
  kFile = 3,       // cannot read or write
  kMalformed = 4,  // malformed, mathematically impossible, or over a limit
  kInternal = 70,  // posenc itself is wrong
};

}  // namespace posenc::tool
