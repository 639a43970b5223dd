// The parts of kernels/rotate_loop.h by themselves, over the same vectors.
// V: the instruction set's vector of floats (kernels/isa/floats_avx2.h ...); E: the element type. So a part is compiled
// from the kernel's own code, with something left out.
#pragma once

#include "kernels/rotate_loop.h"
#include "rotate_floors.h"

namespace posenc::bench {
namespace {

// A step that leaves its elements as they are.
template <class V, class E>
struct Unrotated : kernels::Half<V, E> {
  static void rotate_parts(typename E::Run (&)[2], const typename kernels::Half<V, E>::Angles&) noexcept {}
};

// Rotates `lines` lines that stay in registers, by cos 0.6 and sin 0.8: numbers keep their size. V::keep stands for the
// loads and stores that are left out, so that the compiler does not compute ahead or drop the loop.
template <class V, class E>
void rotate_lines(std::int64_t lines) noexcept {
  using Step = kernels::Half<V, E>;
  constexpr int kSteps = 2;  // 4 independent pairs of registers or more hide what an instruction takes
  constexpr std::int64_t kBytes = kSteps * 2 * E::kWidth * static_cast<std::int64_t>(sizeof(typename E::Type));
  typename Step::Angles angles;
  typename E::Run x[kSteps][2];
  const auto each = [&x](auto f) {
    for (auto& step : x) {
      for (auto& run : step) {
        for (auto& floats : run.x) f(floats);
      }
    }
  };
  for (auto& c : angles.c.x) c = V::keep(V::all(0.6F));
  for (auto& s : angles.s.x) s = V::keep(V::all(0.8F));
  each([](auto& floats) { floats = V::all(1.0F); });
  for (std::int64_t bytes = 64 * lines; bytes > 0; bytes -= kBytes) {
    each([](auto& floats) { floats = V::keep(floats); });
    for (auto& step : x) Step::rotate_parts(step, angles);
  }
  each([](auto& floats) { floats = V::keep(floats); });
}

template <class V>
void rotate_registers(kernels::Element element, std::int64_t lines) {
  switch (element) {
    case kernels::Element::f32: return rotate_lines<V, kernels::F32<V>>(lines);
    case kernels::Element::f16: return rotate_lines<V, kernels::F16<V>>(lines);
    case kernels::Element::bf16: return rotate_lines<V, kernels::Bf16<V>>(lines);
  }
}

template <class V>
void pass(const kernels::RotateRows& rows) {
  switch (rows.element) {
    case kernels::Element::f32: return kernels::rotate_rows<V, Unrotated<V, kernels::F32<V>>>(rows);
    case kernels::Element::f16: return kernels::rotate_rows<V, Unrotated<V, kernels::F16<V>>>(rows);
    case kernels::Element::bf16: return kernels::rotate_rows<V, Unrotated<V, kernels::Bf16<V>>>(rows);
  }
}

template <class V>
void rotate(const kernels::RotateRows& rows) {
  kernels::rotate<V>(rows);
}

template <class V>
RotateFloors floors() {
  return {rotate_registers<V>, pass<V>, rotate<V>};
}

}  // namespace
}  // namespace posenc::bench
