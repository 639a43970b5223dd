// A call of attend out of the bytes of an input: one that is right, of which some things are then spoilt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attend/scheme_call.h"
#include "fuzz/calls/arguments.h"
#include "fuzz/calls/slots.h"
#include "posenc/attend.h"

namespace posenc::fuzz {

// Whether keys and values may be codes of a quantised cache.
enum class Stored : std::uint8_t { plain, or_codes };

class AttendCall {
 public:
  AttendCall(Arguments& arguments, Slots& slots, Stored stored = Stored::plain);
  AttendCall(const AttendCall&) = delete;
  AttendCall& operator=(const AttendCall&) = delete;

  LayerPlan layer;
  AttendArgs args;

  // Whether the weights are those of the scheme, whose numbers lie where it asks for them (KERPLE's above 0).
  bool has_sound_weights() const { return has_sound_weights_; }
  std::vector<TensorView> written() const;
  std::vector<ConstTensorView> read() const;
  bool has_codes() const { return !args.k_quantised.empty() || !args.v_quantised.empty(); }
  // The same call for the reference, of the numbers that the slots held.
  test::SchemeCall& in_double(const Slots& slots);

 private:
  void give_tensors(Arguments& arguments, Slots& slots);
  void give_pages(Arguments& arguments, Slots& slots, DType dtype);
  void give_inputs(Arguments& arguments, Slots& slots);
  void move_weights(Arguments& arguments, Slots& slots);
  void give_codes(Arguments& arguments, ConstTensorView& plain, ConstQuantisedView& codes);
  void spoil(Arguments& arguments, const Slots& slots);
  void spoil_inputs(Arguments& arguments);

  std::optional<test::SchemeCall> call_;
  bool has_sound_weights_ = true;
  std::vector<std::vector<std::byte>> codes_;
  std::vector<std::vector<float>> scales_;
  std::vector<std::int32_t> block_table_;
  std::vector<std::int64_t> list_;  // what was spoilt
  std::vector<std::int32_t> narrow_list_;
  std::vector<double> real_list_;
};

}  // namespace posenc::fuzz
