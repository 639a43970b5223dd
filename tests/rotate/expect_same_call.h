// Calls as checks leave them, compared.
#pragma once

#include <gtest/gtest.h>

#include "cpu/call/heads_view.h"
#include "cpu/rotate/check_rotate.h"

namespace posenc::test {

inline void expect_same(const cpu::HeadsView& a, const cpu::HeadsView& b) {
  EXPECT_EQ(a.from, b.from);
  EXPECT_EQ(a.to, b.to);
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_EQ(a.block_size, b.block_size);
  if (a.from == nullptr) return;
  EXPECT_EQ(a.element, b.element);
  EXPECT_EQ(a.element_bytes, b.element_bytes);
  for (const auto strides : {&cpu::HeadsView::from_strides, &cpu::HeadsView::to_strides}) {
    EXPECT_EQ((a.*strides).batch, (b.*strides).batch);
    EXPECT_EQ((a.*strides).row, (b.*strides).row);
    EXPECT_EQ((a.*strides).head, (b.*strides).head);
  }
}

inline void expect_same(const cpu::RotateCall& a, const cpu::RotateCall& b) {
  for (std::size_t i = 0; i < a.tensors.size(); ++i) expect_same(a.tensors[i], b.tensors[i]);
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.sequences, b.sequences);
  EXPECT_EQ(a.shared_positions, b.shared_positions);
  EXPECT_EQ(a.axis_stride, b.axis_stride);
}

}  // namespace posenc::test
