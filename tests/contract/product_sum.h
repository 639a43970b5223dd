// a * b + c, compiled with posenc's options and, as a control, with contraction allowed.
#pragma once

namespace posenc::test {

double product_sum(double a, double b, double c);
double contracted_product_sum(double a, double b, double c);

}  // namespace posenc::test
