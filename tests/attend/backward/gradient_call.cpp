#include "attend/backward/gradient_call.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>

#include "math/bfloat16.h"
#include "math/feature.h"
#include "math/learned_tensors.h"
#include "posenc/reference_backward.h"
#include "posenc/reference_linear.h"
#include "posenc/scores.h"
#include "support/gradient_tolerances.h"

namespace posenc::test {
namespace {

std::vector<std::int64_t> shape_of(const ConstTensorView& x) { return {x.shape.begin(), x.shape.begin() + x.rank}; }

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

Rope& rope_of(Rotate& rotate) {
  auto* const xpos = std::get_if<XPos>(&rotate.scheme);
  return xpos != nullptr ? xpos->rope : std::get<Rope>(rotate.scheme);
}

// What ALiBi adds for a slope of 1, by its formula.
double unit_alibi(const Alibi& scheme, double i, double j) {
  switch (scheme.form) {
    case AlibiForm::relative: return scheme.symmetric ? -std::abs(i - j) : j - i;
    case AlibiForm::column: return j;
    case AlibiForm::column_bfloat16: return math::rounded_to_bfloat16(j);
  }
  return 0.0;
}

// Distances of 90 are large beside numbers of 1: what they are multiplied with moves as much less.
constexpr double kByDistance = 1.0 / 64;

}  // namespace

double Parameter::along() const { return std::inner_product(gradient.begin(), gradient.end(), direction.begin(), 0.0); }

GradientCall::GradientCall(const SchemeCase& scheme, const Arrangement& arrangement, Places places, std::uint64_t seed,
                           std::optional<FeatureMap> map)
    : call(scheme, arrangement, places, seed), map_(map), random_(seed + 1) {
  out_.shape = call.q.shape;
  out_.shape.back() = call.layer.value_dim;
  out_.values.resize(count_of(out_.shape));
  lse_.shape = call.q.shape;
  lse_.shape.pop_back();
  lse_.values.resize(count_of(lse_.shape));
  d_out_ = {drawn(out_.values.size(), 1.0), out_.shape};
  d_lse_ = {drawn(lse_.values.size(), 1.0), lse_.shape};
  // On a whole threshold a query may stand, where max(L, i) has no derivative (attend_backward_test.cpp).
  for (ScoreWeights& weights : call.weights.score) {
    if (auto* const fire = std::get_if<FireWeights>(&weights)) fire->threshold += 0.3;
  }
  // Some with q, or k, or both rotated by the caller.
  if (!map_ && !call.layer.rotate.empty() && std::holds_alternative<std::monostate>(call.layer.regions)) {
    call.inputs.q_rotated = seed % 5 == 1 || seed % 5 == 3;
    call.inputs.k_rotated = seed % 5 == 2 || seed % 5 == 3;
  }
  if (map_) move_up();
  if (!map_ && seed % 2 == 0) give_bias();
  add_tensor("q", call.q);
  add_tensor("k", call.k);
  add_tensor("v", call.v);
  if (!call.inputs.bias.empty()) add_tensor("bias", call.inputs.bias);
  if (!call.inputs.log_forget.empty()) add_tensor("log_forget", call.inputs.log_forget);
  if (!call.inputs.row_gate.empty()) add_tensor("row_gate", call.inputs.row_gate);
  add_learned();  // after the bias, to whose numbers slopes add
}

std::vector<double> GradientCall::drawn(std::size_t count, double size) {
  std::vector<double> out(count);
  for (double& x : out) x = size * random_.number();
  return out;
}

// Of each rank, and broadcast along some axes.
void GradientCall::give_bias() {
  const std::int64_t batch = call.sizes.batch;
  const std::int64_t heads = call.layer.heads;
  const std::vector<std::vector<std::int64_t>> shapes{{call.sizes.queries, call.sizes.keys},
                                                      {heads, 1, call.sizes.keys},
                                                      {batch, 1, call.sizes.queries, call.sizes.keys},
                                                      {1, heads, call.sizes.queries, 1}};
  const auto& shape = shapes[static_cast<std::size_t>(random_.whole(0, std::ssize(shapes) - 1))];
  bias_ = drawn(count_of(shape), 1.0);
  call.inputs.bias = tensor(bias_.data(), DType::f64, shape);
}

// Features whose products are above 0, as denominators should be: nearly all numbers, or of identity all.
void GradientCall::move_up() {
  for (Tensor* const x : {&call.q, &call.k}) {
    for (double& c : x->values) c = map_ == FeatureMap::identity ? std::abs(c) + 0.1 : c + 1.0;
  }
}

// The largest |f(q)| |f(k)| / f(q) . f(k) of a query and a key: how much larger a weight of linear attention may be
// than its share of the denominator.
double GradientCall::feature_angle() const {
  double out = 1.0;
  const auto channels = static_cast<std::size_t>(call.layer.head_dim);
  for (std::size_t i = 0; i < call.q.values.size(); i += channels) {
    for (std::size_t j = 0; j < call.k.values.size(); j += channels) {
      double qq = 0.0;
      double kk = 0.0;
      double qk = 0.0;
      for (std::size_t c = 0; c < channels; ++c) {
        const double q = math::feature(*map_, call.q.values[i + c]);
        const double k = math::feature(*map_, call.k.values[j + c]);
        qq += q * q;
        kk += k * k;
        qk += q * k;
      }
      out = std::max(out, std::sqrt(qq * kk) / qk);
    }
  }
  return out;
}

void GradientCall::add(std::string name, std::vector<std::int64_t> shape, double size,
                       std::function<void(double)> move) {
  const std::size_t count = count_of(shape);
  parameters.push_back({.name = std::move(name),
                        .shape = std::move(shape),
                        .direction = drawn(count, size),
                        .gradient = std::vector<double>(count),
                        .move = std::move(move)});
}

// Elements that lie one after another.
void GradientCall::add_tensor(const std::string& name, const ConstTensorView& tensor, double size) {
  auto* const data = static_cast<double*>(const_cast<void*>(tensor.data));
  const std::size_t place = parameters.size();
  add(name, shape_of(tensor), size, {});
  const std::vector<double> start(data, data + parameters[place].direction.size());
  parameters[place].move = [this, place, data, start](double t) {
    for (std::size_t n = 0; n < start.size(); ++n) data[n] = start[n] + t * parameters[place].direction[n];
  };
}

void GradientCall::add_number(const std::string& name, double& number) {
  const std::size_t place = parameters.size();
  add(name, {1}, 0.25, {});
  parameters[place].move = [this, place, &number, start = number](double t) {
    number = start + t * parameters[place].direction[0];
  };
}

// Slopes are of a plan's own making, so they are moved by a bias that does the same. It takes the place of another.
void GradientCall::add_slopes(const std::string& name, std::size_t term) {
  const auto& alibi = std::get<Alibi>(call.layer.score[term]);
  const std::size_t place = parameters.size();
  add(name, {alibi.heads}, kByDistance, {});
  const std::vector<std::int64_t> shape{call.sizes.batch, alibi.heads, call.sizes.queries, call.sizes.keys};
  const auto moved = std::make_shared<std::vector<double>>(count_of(shape));
  const ConstTensorView given = call.inputs.bias;
  parameters[place].move = [this, place, alibi, shape, moved, given](double t) {
    call.inputs.bias = given;
    if (t == 0.0) return;
    const math::CallRows rows = math::call_rows(call.layer, call.inputs, call.sizes);
    const double scale = alibi.scaled ? call.layer.softmax_scale : 1.0;
    double* to = moved->data();
    for (std::int64_t b = 0; b < shape[0]; ++b) {
      for (std::int64_t h = 0; h < shape[1]; ++h) {
        for (std::int64_t i = 0; i < shape[2]; ++i) {
          for (std::int64_t j = 0; j < shape[3]; ++j) {
            const double q = rows.axes[0].q[static_cast<std::size_t>(b * shape[2] + i)];
            const double k = rows.axes[0].k[static_cast<std::size_t>(b * shape[3] + j)];
            double other = 0.0;
            if (!given.empty()) {
              const std::int64_t at[] = {b, h, i, j};
              std::int64_t offset = 0;
              for (int axis = 0; axis < given.rank; ++axis) {
                const auto a = static_cast<std::size_t>(axis);
                if (given.shape[a] != 1) offset += at[axis + 4 - given.rank] * given.strides[a];
              }
              other = static_cast<const double*>(given.data)[offset];
            }
            *to++ =
                other + t * parameters[place].direction[static_cast<std::size_t>(h)] * scale * unit_alibi(alibi, q, k);
          }
        }
      }
    }
    call.inputs.bias = tensor(moved->data(), DType::f64, shape);
  };
}

// Frequencies are of a rule's making: LongRoPE's divisors make any, with any attention factor.
void GradientCall::add_frequencies(const std::string& name, std::size_t rotation) {
  Rope plain = rope_of(call.layer.rotate[rotation]);
  const Frequencies start = frequencies(plain, call.inputs.length);
  plain.scaling = {};
  const std::vector<double> base = frequencies(plain).inv_freq;
  if (std::ranges::count(start.inv_freq, 0.0) > 0) return;  // no divisor makes them
  const std::size_t place = parameters.size();
  add(name, {std::ssize(base)}, kByDistance, {});
  parameters[place].move = [this, place, rotation, start, base](double t) {
    LongRopeScaling rule{.original_max_position_embeddings = 2, .attention_factor = start.attention_factor};
    for (std::size_t p = 0; p < base.size(); ++p) {
      rule.short_factor.push_back(base[p] / (start.inv_freq[p] + t * parameters[place].direction[p]));
    }
    rule.long_factor = rule.short_factor;
    rope_of(call.layer.rotate[rotation]).scaling = rule;
  };
}

void GradientCall::add_learned() {
  for (const math::LearnedTensor& one : math::learned_tensors(call.layer, call.weights)) {
    const std::size_t dot = one.name.find('.');
    const bool is_numbered = dot != std::string::npos && one.name.find_first_not_of("0123456789") == dot;
    const std::size_t n = is_numbered ? std::stoul(one.name) : 0;
    const std::string own = is_numbered ? one.name.substr(dot + 1) : one.name;
    if (own == "inv_freq") {
      const auto is_main = [](const Rotate& rotate) { return rotate.role == RotateRole::main; };
      const auto first = std::ranges::find_if(call.layer.rotate, is_main) - call.layer.rotate.begin();
      add_frequencies(one.name, is_numbered ? n : static_cast<std::size_t>(first));
    } else if (own == "slopes") {
      add_slopes(one.name, n);
    } else if (own == "c") {
      add_number(one.name, std::get<FireWeights>(call.weights.score[n]).c);
    } else if (own == "threshold") {
      add_number(one.name, std::get<FireWeights>(call.weights.score[n]).threshold);
    } else {
      const bool meets_distance = own == "layers.0.weight" || own == "r1" || own == "r2";
      add_tensor(one.name, one.tensor, meets_distance ? kByDistance : 1.0);
    }
  }
}

double GradientCall::loss() {
  if (map_) {
    (void)reference::attend_linear(
        call.layer,
        {.out = out_.writable(), .q = call.q, .k = call.k, .v = call.v, .inputs = call.inputs, .feature_map = *map_});
    return std::inner_product(out_.values.begin(), out_.values.end(), d_out_.values.begin(), 0.0);
  }
  (void)reference::attend(call.layer, {.out = out_.writable(),
                                       .q = call.q,
                                       .k = call.k,
                                       .v = call.v,
                                       .weights = call.weights,
                                       .inputs = call.inputs,
                                       .lse = lse_.writable()});
  double sum = std::inner_product(out_.values.begin(), out_.values.end(), d_out_.values.begin(), 0.0);
  for (std::size_t n = 0; n < lse_.values.size(); ++n) {
    if (std::isfinite(lse_.values[n])) sum += lse_.values[n] * d_lse_.values[n];  // -inf: a query that sees nothing
  }
  return sum;
}

void GradientCall::differentiate() {
  reference::AttendBackwardArgs args{.q = call.q,
                                     .k = call.k,
                                     .v = call.v,
                                     .weights = call.weights,
                                     .inputs = call.inputs,
                                     .d_out = d_out_,
                                     .d_lse = d_lse_};
  std::vector<NamedGradient> learned;
  for (Parameter& one : parameters) {
    const TensorView to = tensor(one.gradient.data(), DType::f64, one.shape);
    const std::pair<const char*, TensorView*> places[] = {{"q", &args.d_q},
                                                          {"k", &args.d_k},
                                                          {"v", &args.d_v},
                                                          {"bias", &args.d_bias},
                                                          {"log_forget", &args.d_log_forget},
                                                          {"row_gate", &args.d_row_gate}};
    const auto found = std::ranges::find(places, one.name, [](const auto& place) { return std::string(place.first); });
    if (found != std::end(places)) {
      *found->second = to;
    } else {
      learned.push_back({one.name, to});
    }
  }
  args.d_weights = learned;
  if (map_) {
    (void)reference::attend_linear_backward(call.layer, {.q = args.q,
                                                         .k = args.k,
                                                         .v = args.v,
                                                         .inputs = args.inputs,
                                                         .feature_map = *map_,
                                                         .d_out = args.d_out,
                                                         .d_q = args.d_q,
                                                         .d_k = args.d_k,
                                                         .d_v = args.d_v,
                                                         .d_weights = args.d_weights});
    return;
  }
  (void)reference::attend_backward(call.layer, args);
}

double GradientCall::rounding() {
  loss();
  double out = 0.0;
  for (const double d : d_out_.values) out += d * d;
  double largest = 0.0;
  for (const double x : map_ ? call.v.values : out_.values) largest = std::max(largest, std::abs(x));
  double lse = 0.0;
  double scores = 1.0;
  const auto channels = static_cast<double>(call.layer.head_dim);
  if (map_) return loss_rounding(std::sqrt(out) * largest, 0.0, feature_angle(), channels);
  for (const double d : d_lse_.values) lse += d * d;
  for (const double x : lse_.values) scores = std::max(scores, std::isfinite(x) ? std::abs(x) : 0.0);
  return loss_rounding(std::sqrt(out) * largest, std::sqrt(lse), scores, channels);
}

}  // namespace posenc::test
