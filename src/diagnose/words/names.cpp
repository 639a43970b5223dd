// The words of verdicts and facts.
#include "posenc/diagnose.h"

namespace posenc::inline v0_2 {

std::string_view name(PortVerdict verdict) noexcept {
  switch (verdict) {
    case PortVerdict::as_the_plan: return "as the plan";
    case PortVerdict::differs: return "differs";
    case PortVerdict::cannot_tell: return "cannot tell";
    case PortVerdict::recovered: return "recovered";
  }
  return "";
}

std::string_view name(PortFact fact) noexcept {
  switch (fact) {
    case PortFact::pairing: return "pairing";
    case PortFact::first_channel: return "first_channel";
    case PortFact::dim: return "dim";
    case PortFact::channel_order: return "channel_order";
    case PortFact::layout: return "layout";
    case PortFact::axes: return "axes";
    case PortFact::base: return "base";
    case PortFact::scaling: return "scaling";
    case PortFact::attention_factor: return "attention_factor";
    case PortFact::offset: return "offset";
    case PortFact::step: return "step";
    case PortFact::positions: return "positions";
    case PortFact::direction: return "direction";
    case PortFact::repeated: return "repeated";
    case PortFact::exchanged: return "exchanged";
    case PortFact::norm: return "norm";
    case PortFact::precision: return "precision";
    case PortFact::rotation: return "rotation";
    case PortFact::scale: return "scale";
    case PortFact::soft_cap: return "soft_cap";
    case PortFact::mask: return "mask";
    case PortFact::window: return "window";
    case PortFact::sinks: return "sinks";
    case PortFact::slopes: return "slopes";
    case PortFact::buckets: return "buckets";
    case PortFact::kv_heads: return "kv_heads";
    case PortFact::value: return "value";
  }
  return "";
}

}  // namespace posenc::inline v0_2
