// Figures of posenc bench and demo, alike in all of their tables; in JSON seconds and ratios are in full.
#include "bench/bench_words.h"

#include "line/formatted.h"
#include "line/json_text.h"
#include "line/text.h"

namespace posenc::tool {

std::string three_digits(double value) { return formatted("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0); }

std::string ratio_text(const bench::Spread& spread) {
  return formatted("{} ({} to {})", three_digits(spread.median), three_digits(spread.least), three_digits(spread.most));
}

std::string spread_text(const bench::Spread& s, double unit, int digits) {
  return formatted("{:.{}f} ({:.{}f} to {:.{}f})", s.median / unit, digits, s.least / unit, digits, s.most / unit,
                   digits);
}

std::string machine_text(Isa isa) {
  const Info machine = info();
  return formatted("{}; {} kernels, {}", machine.cpu.empty() ? "not named" : printable(machine.cpu), name(isa),
                   machine.build_type.empty() ? "no build type" : machine.build_type);
}

std::string spread_json(const bench::Spread& spread) {
  return json_object(
      {{"median", json_number(spread.median)}, {"min", json_number(spread.least)}, {"max", json_number(spread.most)}});
}

}  // namespace posenc::tool
