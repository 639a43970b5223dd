// Faults of a part of the heads, queries or distances, which short formats may hide from a sum over a whole call. Found
// by people who looked for what is called right.
#include <utility>

#include "diagnose/attention_port.h"

namespace posenc::test {
namespace {

using Places = std::size_t;
using SpoilPart = std::function<bool(AttentionPort& port, const PortedLayer& of, Places queries, Places keys)>;

AttentionFault found_in_part(const char* name, PortFact fact, SpoilPart spoil) {
  return {.name = name, .facts = {fact}, .right = false, .spoil = std::move(spoil)};
}

}  // namespace

std::vector<AttentionFault> found_attention() {
  std::vector<AttentionFault> out;
  out.push_back(found_in_part("found: one head half as much scale again", PortFact::scale,
                              [](AttentionPort& p, const PortedLayer&, Places, Places) {
                                p.times = [](Places h, double) { return h == 1 ? 1.5 : 1.0; };
                                return true;
                              }));
  out.push_back(found_in_part("found: the later queries twice the scale", PortFact::scale,
                              [](AttentionPort& p, const PortedLayer&, Places queries, Places keys) {
                                const auto end = static_cast<double>(keys);
                                p.times = [end](Places, double i) { return i >= end / 2 ? 2.0 : 1.0; };
                                return queries > 8;
                              }));
  out.push_back(found_in_part("found: the second half sees the key after", PortFact::mask,
                              [](AttentionPort& p, const PortedLayer& of, Places queries, Places keys) {
                                // T5's biases are large, and rounding of their sums in bfloat16 does as much.
                                if (!of.table.empty()) return false;
                                const auto own = p.seen;
                                const double last = static_cast<double>(keys) - 1;
                                p.seen = [own, last](double i, double j) {
                                  return own(i, j) || (i > last / 2 && j == i + 1 && j <= last);
                                };
                                return queries > 8 && !own(0, 1);
                              }));
  out.push_back(found_in_part("found: ALiBi ends at 8 keys", PortFact::slopes,
                              [](AttentionPort& p, const PortedLayer& of, Places queries, Places) {
                                const auto own = p.bias;
                                p.bias = [own](Places h, double i, double j) {
                                  return own(h, i, i - j > 8 ? i - 8 : j);
                                };
                                return of.name == "bloom" && queries > 8;
                              }));
  out.push_back(found_in_part("found: one query sees the key after", PortFact::mask,
                              [](AttentionPort& p, const PortedLayer&, Places queries, Places keys) {
                                const auto own = p.seen;
                                const double one = static_cast<double>(keys) - 10;
                                p.seen = [own, one](double i, double j) {
                                  return own(i, j) || (i == one && j == i + 1);
                                };
                                return queries > 20 && !own(0, 1);
                              }));
  out.push_back(found_in_part("found: two queries twice the scale", PortFact::scale,
                              [](AttentionPort& p, const PortedLayer&, Places queries, Places keys) {
                                const double end = static_cast<double>(keys);
                                p.times = [end](Places, double i) { return i == end - 3 || i == end - 12 ? 2.0 : 1.0; };
                                return queries > 20;
                              }));
  out.push_back(found_in_part("found: one query without its first key", PortFact::mask,
                              [](AttentionPort& p, const PortedLayer&, Places queries, Places keys) {
                                const auto own = p.seen;
                                const double one = static_cast<double>(keys) - 32;
                                p.seen = [own, one](double i, double j) { return own(i, j) && !(i == one && j == 0); };
                                return queries > 20 && own(one, 0);
                              }));
  return out;
}

}  // namespace posenc::test
