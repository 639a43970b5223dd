// RoPE of one pair of channels, a and b in registers of their own: (a, b) -> (a c - b s, b c + a s), each one fused
// multiply-add over one rounded product. RoFormer, arXiv 2104.09864, (34). Reference: src/reference/rotate_head.cpp.
#pragma once

namespace posenc::kernels {

template <class V>
void rotate_pair(typename V::Floats& a, typename V::Floats& b, typename V::Floats c, typename V::Floats s) noexcept {
  const typename V::Floats rotated = V::fms(a, c, V::mul(b, s));
  b = V::fma(b, c, V::mul(a, s));
  a = rotated;
}

}  // namespace posenc::kernels
