// name() of the public enumerators: the words of a plan's JSON, from the tables of plan_names.h.
#include "plan/json/plan_names.h"

namespace posenc::inline v0_2 {

std::string_view name(Pairing pairing) noexcept { return plan::enum_name(pairing); }
std::string_view name(AxisFrequencies axis_frequencies) noexcept { return plan::enum_name(axis_frequencies); }
std::string_view name(RotationDirection direction) noexcept { return plan::enum_name(direction); }
std::string_view name(SinusoidConvention convention) noexcept { return plan::enum_name(convention); }
std::string_view name(LayerKind kind) noexcept { return plan::enum_name(kind); }
std::string_view name(RotateRole role) noexcept { return plan::enum_name(role); }
std::string_view name(MaskKind kind) noexcept { return plan::enum_name(kind); }
std::string_view name(SoftCap::Order order) noexcept { return plan::enum_name(order); }
std::string_view name(QkNorm::Kind kind) noexcept { return plan::enum_name(kind); }
std::string_view name(QkNorm::Order order) noexcept { return plan::enum_name(order); }
std::string_view name(QkNorm::Over over) noexcept { return plan::enum_name(over); }
std::string_view name(QkNorm::Of of) noexcept { return plan::enum_name(of); }
std::string_view name(FedBy fed_by) noexcept { return plan::enum_name(fed_by); }
std::string_view name(AddedTo to) noexcept { return plan::enum_name(to); }
std::string_view name(AddedHow how) noexcept { return plan::enum_name(how); }
std::string_view name(PlaceOf of) noexcept { return plan::enum_name(of); }
std::string_view name(InputCombine combine) noexcept { return plan::enum_name(combine); }
std::string_view name(AxialCombine combine) noexcept { return plan::enum_name(combine); }
std::string_view name(AlibiForm form) noexcept { return plan::enum_name(form); }
std::string_view name(Kerple::Form form) noexcept { return plan::enum_name(form); }
std::string_view name(SourceKind kind) noexcept { return plan::enum_name(kind); }

}  // namespace posenc::inline v0_2
