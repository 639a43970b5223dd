#include "contract/product_sum.h"

namespace posenc::test {

double contracted_product_sum(double a, double b, double c) { return a * b + c; }

}  // namespace posenc::test
