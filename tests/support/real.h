// MPFR, the oracle: correctly rounded sine and cosine in as many bits as asked for.
#pragma once

#include <mpfr.h>

#include <cstdint>

namespace posenc::test {

// A number of MPFR; its precision is fixed when it is made.
class Real {
 public:
  explicit Real(mpfr_prec_t bits) { mpfr_init2(x_, bits); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(x_); }

  mpfr_ptr get() noexcept { return x_; }

 private:
  mpfr_t x_;
};

// A real number as the sum of two doubles: 106 bits of it.
struct Pair {
  double hi = 0.0;
  double lo = 0.0;
};

inline Pair to_pair(Real& x) {
  Pair out{mpfr_get_d(x.get(), MPFR_RNDN), 0.0};
  mpfr_sub_d(x.get(), x.get(), out.hi, MPFR_RNDN);
  out.lo = mpfr_get_d(x.get(), MPFR_RNDN);
  return out;
}

// cos(x f) and sin(x f) of the exact product, which has at most 106 bits.
class AngleOracle {
 public:
  void evaluate(double x, double f) {
    mpfr_set_d(angle_.get(), x, MPFR_RNDN);
    mpfr_mul_d(angle_.get(), angle_.get(), f, MPFR_RNDN);
    mpfr_sin_cos(sin_.get(), cos_.get(), angle_.get(), MPFR_RNDN);
    cos = to_pair(cos_);
    sin = to_pair(sin_);
  }

  Pair cos;
  Pair sin;

 private:
  Real angle_{106};
  Real cos_{106};
  Real sin_{106};
};

}  // namespace posenc::test
