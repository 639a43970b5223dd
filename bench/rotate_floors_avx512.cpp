// The parts of the rotation in AVX-512, and the orders of loads and stores, whose lines are its registers.
#include "kernels/isa/floats_avx512.h"
#include "rotate_floors_loop.h"
#include "rotate_orders_loop.h"

namespace posenc::bench {

RotateFloors rotate_floors_avx512() {
  RotateFloors out = floors<Avx512Floats>();
  out.orders = orders<Avx512Floats>();
  out.past_caches = orders_past_caches<Avx512Floats>();
  return out;
}

}  // namespace posenc::bench
