// diagnose_pairing() of posenc/diagnose_weights.h.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "plan/text/text_lines.h"
#include "posenc/diagnose_weights.h"
#include "posenc/error.h"
#include "posenc/plan.h"
#include "reference/elements.h"

namespace posenc::inline v0_2 {
namespace {

constexpr const char* kOfWeights = "diagnose_pairing";
constexpr std::int64_t kPairingSchemaVersion = 1;
// Below so many heads a t says little: its distribution has long tails.
constexpr std::int64_t kFewestHeads = 8;
// Over heads, one error in 30,000 where they are independent. Those of one model are not quite: over pairs, which are,
// one in a thousand besides. The other contrast, which is to be 0 or below, must not be above 0 beyond chance.
constexpr double kDecisive = 4.0;
constexpr double kDecisiveOfPairs = 3.0;
constexpr double kSilent = 2.0;

// Rows of length 1, [rows, inputs]; a row of zeros stays.
std::vector<double> unit_rows(const ConstTensorView& rows, const char* field) {
  std::vector<double> out;
  for (std::int64_t r = 0; r < rows.shape[0]; ++r) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < rows.shape[1]; ++c) {
      const double x = reference::read(rows, r * rows.strides[0] + c * rows.strides[1]);
      if (!std::isfinite(x))
        throw Error(kOfWeights, {field, "be finite", formatted("{} at row {}, input {}", x, r, c)});
      out.push_back(x);
      sum += x * x;
    }
    if (!(sum > 0)) continue;
    for (auto x = out.end() - rows.shape[1]; x != out.end(); ++x) *x /= std::sqrt(sum);
  }
  return out;
}

void require_fit(const QueryKeyRows& of) {
  for (const auto& [rows, field] : {std::pair{&of.q, "q"}, {&of.k, "k"}}) {
    if (rows->rank != 2) throw Error(kOfWeights, {formatted("{}.rank", field), "be 2", formatted("{}", rows->rank)});
    if (rows->data == nullptr) throw Error(kOfWeights, {formatted("{}.data", field), "point to them", "null"});
    if (of.head_dim < 2 || rows->shape[0] < 1 || rows->shape[0] % of.head_dim != 0) {
      throw Error(kOfWeights,
                  {formatted("{}.shape", field), formatted("have a multiple of head_dim, {}, rows", of.head_dim),
                   formatted("{}", rows->shape[0])});
    }
  }
  if (of.q.shape[1] != of.k.shape[1] || of.q.shape[0] % of.k.shape[0] != 0) {
    throw Error(kOfWeights,
                {"k.shape", formatted("have {} inputs and a divisor of {} rows", of.q.shape[1], of.q.shape[0]),
                 formatted("[{}, {}]", of.k.shape[0], of.k.shape[1])});
  }
  if (of.dim < 2 || of.dim % 2 != 0 || of.first_channel < 0 || of.first_channel + of.dim > of.head_dim) {
    throw Error(kOfWeights,
                {"dim", formatted("be even and fit into {} channels from {} on", of.head_dim, of.first_channel),
                 formatted("{}", of.dim)});
  }
}

// Products of the rotated rows of one query head and one KV head, [dim, dim].
std::vector<double> products(const double* q, const double* k, std::size_t dim, std::size_t inputs) {
  std::vector<double> out(dim * dim);
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = 0; b < dim; ++b) {
      double sum = 0.0;
      for (std::size_t c = 0; c < inputs; ++c) sum += q[a * inputs + c] * k[b * inputs + c];
      out[a * dim + b] = sum;
    }
  }
  return out;
}

// Of one head: the contrast as a whole, and pair by pair against the pairs beside it.
struct Contrast {
  double all = 0.0;
  std::vector<double> of_pair;  // [dim / 2]
};

// `within(p)` of a pair, `between(p)` of it and the next one.
template <typename Within, typename Between>
Contrast contrast_of(std::size_t pairs, Within within, Between between) {
  Contrast out{.of_pair = std::vector<double>(pairs, 0.0)};
  const auto count = static_cast<double>(pairs);
  for (std::size_t p = 0; p < pairs; ++p) {
    const double own = within(p);
    const double before = p > 0 ? between(p - 1) : between(p);
    const double after = p + 1 < pairs ? between(p) : between(p - 1);
    out.of_pair[p] = own - (before + after) / 2;
    out.all += own / count;
    if (p + 1 < pairs) out.all -= between(p) / (count - 1);
  }
  return out;
}

struct Contrasts {
  Contrast half;
  Contrast interleaved;
};

Contrasts contrasts(const std::vector<double>& m, std::size_t dim) {
  const auto s = [&](std::size_t a, std::size_t b) {
    return m[a * dim + a] * m[b * dim + b] + m[a * dim + b] * m[b * dim + a];
  };
  const std::size_t pairs = dim / 2;
  return {contrast_of(
              pairs, [&](std::size_t p) { return s(p, p + pairs); },
              [&](std::size_t p) { return (s(p, p + pairs + 1) + s(p + 1, p + pairs)) / 2; }),
          contrast_of(
              pairs, [&](std::size_t p) { return s(2 * p, 2 * p + 1); },
              [&](std::size_t p) { return s(2 * p + 1, 2 * p + 2); })};
}

// Student's t of a mean above 0, as a normal number of the same tail (Wallace 1959): z^2 = n ln(1 + t^2 / n).
double deviations_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0.0;
  for (const double x : values) mean += x / count;
  double square = 0.0;
  for (const double x : values) square += (x - mean) * (x - mean);
  if (values.size() < 2 || !(square > 0)) return 0.0;
  const double freedom = count - 1;
  const double t = mean / std::sqrt(square / freedom / count);
  return std::copysign(std::sqrt(freedom * std::log1p(t * t / freedom)), t);
}

}  // namespace

namespace {

// What the heads of all layers say of one pairing. Heads of a layer may have a part in common, as those of a model have
// that was made of a smaller one: then they are no evidence of their own, and pairs are.
struct Evidence {
  std::vector<double> heads;  // [KV heads of all layers]
  std::vector<double> pairs;  // [pairs of all layers], each over the heads of its layer

  double of_heads() const { return deviations_of(heads); }
  double least() const { return std::min(of_heads(), deviations_of(pairs)); }
};

}  // namespace

PairingDiagnosis diagnose_pairing(std::span<const QueryKeyRows> layers) {
  PairingDiagnosis out{.confidence = 0.5};
  Evidence half;
  Evidence interleaved;
  for (const QueryKeyRows& of : layers) {
    require_fit(of);
    if (of.dim < 4) continue;  // one pair is the same in both
    const auto inputs = static_cast<std::size_t>(of.q.shape[1]);
    const auto head = static_cast<std::size_t>(of.head_dim);
    const auto dim = static_cast<std::size_t>(of.dim);
    const auto first = static_cast<std::size_t>(of.first_channel);
    const std::vector<double> q = unit_rows(of.q, "q");
    const std::vector<double> k = unit_rows(of.k, "k");
    const std::size_t kv_heads = k.size() / inputs / head;
    const std::size_t group = q.size() / k.size();
    std::vector<double> half_pairs(dim / 2, 0.0);
    std::vector<double> interleaved_pairs(dim / 2, 0.0);
    for (std::size_t g = 0; g < kv_heads; ++g) {
      double sum_half = 0.0;
      double sum_interleaved = 0.0;
      for (std::size_t h = g * group; h < (g + 1) * group; ++h) {
        const std::vector<double> m =
            products(q.data() + (h * head + first) * inputs, k.data() + (g * head + first) * inputs, dim, inputs);
        double square = 0.0;
        for (const double x : m) square += x * x / static_cast<double>(m.size());
        if (!(square > 0)) continue;
        const Contrasts of_head = contrasts(m, dim);
        sum_half += of_head.half.all / square;
        sum_interleaved += of_head.interleaved.all / square;
        for (std::size_t p = 0; p < dim / 2; ++p) {
          half_pairs[p] += of_head.half.of_pair[p] / square;
          interleaved_pairs[p] += of_head.interleaved.of_pair[p] / square;
        }
      }
      half.heads.push_back(sum_half);
      interleaved.heads.push_back(sum_interleaved);
    }
    half.pairs.insert(half.pairs.end(), half_pairs.begin(), half_pairs.end());
    interleaved.pairs.insert(interleaved.pairs.end(), interleaved_pairs.begin(), interleaved_pairs.end());
  }
  out.kv_heads = std::ssize(half.heads);
  if (out.kv_heads == 0) return out;
  out.half = half.least();
  out.interleaved = interleaved.least();
  const bool is_half = out.half > out.interleaved;
  const double most = is_half ? out.half : out.interleaved;
  const double other = is_half ? interleaved.of_heads() : half.of_heads();
  const double of_heads = is_half ? half.of_heads() : interleaved.of_heads();
  // What both show is something else.
  if (out.kv_heads < kFewestHeads || of_heads < kDecisive || most < kDecisiveOfPairs || other > kSilent) return out;
  out.pairing = is_half ? Pairing::half : Pairing::interleaved;
  out.confidence = 1.0 - 0.5 * std::erfc(most / std::sqrt(2.0));
  return out;
}

std::string describe(const PairingDiagnosis& d) {
  plan::TextLines lines;
  lines.add(0, d.pairing ? formatted("{}: the rows of the q and k projections pair so", posenc::name(*d.pairing))
                         : std::string("cannot tell"));
  lines.add(2, formatted("{} KV heads; rows of half-split pairs agree by {:.1f} standard deviations, those of "
                         "interleaved ones by {:.1f}; confidence {:.6g}",
                         d.kv_heads, d.half, d.interleaved, d.confidence));
  if (!d.pairing) {
    lines.add(
        2, "rows that were not trained, or hardly, look like this; so do few heads: ask the file's model and source");
  }
  return lines.take();
}

std::string to_json(const PairingDiagnosis& d) {
  io::JsonWriter json;
  json.begin_object();
  json.member("schema_version", kPairingSchemaVersion);
  if (d.pairing) {
    json.member("pairing", posenc::name(*d.pairing));
  } else {
    json.null_member("pairing");
  }
  json.member("confidence", d.confidence);
  json.member("half", d.half);
  json.member("interleaved", d.interleaved);
  json.member("kv_heads", d.kv_heads);
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
