#include "posenc/tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/throws.h"

namespace posenc::test::tensor_test {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(Tensor, StridesOfAdjacentElements) {
  std::vector<float> data(24);
  const TensorView view = tensor(data.data(), {2, 3, 4});
  EXPECT_EQ(view.rank, 3);
  EXPECT_EQ(view.dtype, DType::f32);
  EXPECT_EQ(view.shape, (std::array<std::int64_t, 4>{2, 3, 4, 0}));
  EXPECT_EQ(view.strides, (std::array<std::int64_t, 4>{12, 4, 1, 0}));
  const ConstTensorView read = view;
  EXPECT_EQ(read, tensor(static_cast<const float*>(data.data()), {2, 3, 4}));
  EXPECT_TRUE(TensorView{}.empty());
}

TEST(Tensor, TakesAnyListOfSizes) {
  std::vector<double> data(24);
  const std::vector<std::int64_t> shape{2, 3, 4};
  EXPECT_EQ(tensor(data.data(), DType::f64, shape), tensor(data.data(), {2, 3, 4}));
  const ConstTensorView read = tensor(static_cast<const void*>(data.data()), DType::f64, std::span(shape).first(2));
  EXPECT_EQ(read, tensor(static_cast<const double*>(data.data()), {2, 3}));
  EXPECT_EQ(tensor(data.data(), DType::f64, std::span<const std::int64_t>{}).rank, 0);
  EXPECT_ERROR((void)tensor(data.data(), DType::f64, std::vector<std::int64_t>(5, 1)),
               "[tensor] shape must have at most 4 axes but is 5 long");
}

TEST(Tensor, ExchangesAxes) {
  std::vector<double> data(24);
  const TensorView view = transposed(tensor(data.data(), {2, 3, 4}), 0, 1);
  EXPECT_EQ(view.shape, (std::array<std::int64_t, 4>{3, 2, 4, 0}));
  EXPECT_EQ(view.strides, (std::array<std::int64_t, 4>{4, 12, 1, 0}));
  EXPECT_ERROR((void)transposed(view, 0, 3), "[transposed] axis must be at least 0 and below the rank, 3, but is 3");
  EXPECT_ERROR((void)transposed(view, -1, 0), "[transposed] axis must be at least 0 and below the rank, 3, but is -1");
}

TEST(Tensor, RefusesShapes) {
  void* const none = nullptr;
  EXPECT_ERROR((void)tensor(none, DType::f16, {1, 1, 1, 1, 1}),
               "[tensor] shape must have at most 4 axes but is 5 long");
  EXPECT_ERROR((void)tensor(none, DType::f16, {3, -1}), "[tensor] shape[1] must be at least 0 but is -1");
  EXPECT_ERROR((void)tensor(none, DType::f16, {2, kHuge}),
               "[tensor] shape must have a product below 2^63 but is larger");
  EXPECT_EQ(tensor(none, DType::f16, {0, kHuge}).strides[0], kHuge);
}

TEST(Tensor, Names) {
  EXPECT_EQ(name(DType::bf16), "bf16");
  EXPECT_EQ(bytes_of(DType::f16), 2);
  EXPECT_EQ(bytes_of(DType::f64), 8);
}

}  // namespace
}  // namespace posenc::test::tensor_test
