#include "contract/product_sum.h"

namespace posenc::test {

double product_sum(double a, double b, double c) { return a * b + c; }

}  // namespace posenc::test
