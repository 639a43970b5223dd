// The check for shared elements against counting every one of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "cpu/call/tensor_memory.h"
#include "posenc/error.h"
#include "rotate/heads.h"

namespace posenc::test::memory_test {
namespace {

constexpr unsigned kSeed = 9;

TensorView random_view(std::mt19937_64& random, char* memory, int rank) {
  TensorView view{memory + 2 * (random() % 12), DType::f16, rank, {}, {}};
  for (int axis = 0; axis < rank; ++axis) {
    view.shape[static_cast<std::size_t>(axis)] = 1 + static_cast<std::int64_t>(random() % 3);
    view.strides[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(random() % 25) - 12;
  }
  return view;
}

std::vector<const char*> places(const TensorView& view) {
  std::vector<const char*> out;
  for_elements(
      view, [&](std::int64_t offset, std::size_t) { out.push_back(static_cast<const char*>(view.data) + 2 * offset); });
  return out;
}

bool has_places_of_their_own(const cpu::Memory& memory) {
  try {
    cpu::check_places("test", "x", memory);
  } catch (const Error&) {
    return false;
  }
  return true;
}

TEST(TensorMemory, FindsElementsInOnePlace) {
  std::mt19937_64 random(kSeed);
  std::vector<char> memory(400);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const TensorView view = random_view(random, memory.data() + 200, 1 + static_cast<int>(random() % 4));
    std::vector<const char*> all = places(view);
    const cpu::Memory found = cpu::memory_of("test", "x", view);
    const auto [lowest, highest] = std::ranges::minmax(all);
    EXPECT_EQ(found.lowest, reinterpret_cast<std::uintptr_t>(lowest));
    EXPECT_EQ(found.bytes, highest - lowest + 2);
    const bool distinct = std::set<const char*>(all.begin(), all.end()).size() == all.size();
    if (!has_places_of_their_own(found)) continue;  // may be over-careful
    EXPECT_TRUE(distinct) << "round " << round;
    ++accepted;
  }
  EXPECT_GT(accepted, 5000);
}

// Tensors of the same strides are told apart exactly; others only where it is certain.
TEST(TensorMemory, FindsElementsOfTwoTensorsInOnePlace) {
  std::mt19937_64 random(kSeed + 1);
  std::vector<char> memory(600);
  int apart = 0;
  int checked = 0;
  for (int round = 0; round < 60000; ++round) {
    const int rank = 1 + static_cast<int>(random() % 4);
    const TensorView a = random_view(random, memory.data() + 300, rank);
    TensorView b = random_view(random, memory.data() + 300, rank);
    const bool same_strides = round % 2 == 0;
    if (same_strides) {
      b.shape = a.shape;
      b.strides = a.strides;
    }
    const cpu::Memory memory_a = cpu::memory_of("test", "a", a);
    const cpu::Memory memory_b = cpu::memory_of("test", "b", b);
    if (!has_places_of_their_own(memory_a) || !has_places_of_their_own(memory_b)) continue;
    const std::vector<const char*> places_a = places(a);
    const std::vector<const char*> places_b = places(b);
    const std::set<const char*> of_a(places_a.begin(), places_a.end());
    const bool disjoint = std::ranges::none_of(places_b, [&](const char* p) { return of_a.contains(p); });
    const bool found = cpu::are_disjoint(memory_a, memory_b);
    EXPECT_EQ(found, cpu::are_disjoint(memory_b, memory_a));
    if (same_strides) {
      EXPECT_EQ(found, disjoint) << "round " << round;
    } else if (found) {
      EXPECT_TRUE(disjoint) << "round " << round;
    }
    ++checked;
    apart += found ? 1 : 0;
  }
  EXPECT_GT(apart, checked / 10);
  EXPECT_LT(apart, checked);
}

}  // namespace
}  // namespace posenc::test::memory_test
