// What position encodings are good for, measured: the library's schemes against the properties that texts claim of
// them, and the curves, costs and experiments with which they argue.
//
// Nothing stands here that could be computed. Schemes of the rotate, score and value stages are run through
// reference::attend (reference_attend.h), those of the input stage through reference::add_input (reference.h). Learned
// numbers are random, of fixed seeds, so that every run has the same results. docs/properties.md has the definitions
// in full, and the tables.
//
// A place is where a token stands, counted from 0. Two heads of 16 channels; embeddings of 32 channels, each of mean 0
// and variance 1 over tokens, and so are learned tables.
//
// Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc {

inline constexpr std::int64_t kMeasuredPlaces = 512;  // whose encodings are compared
inline constexpr std::int64_t kTrainedPlaces = 64;    // the "trained length" of scaling rules, and of what follows

// ---- The schemes ----

enum class Stage : std::uint8_t { input, rotate, score, value };
POSENC_API std::string_view name(Stage stage) noexcept;

struct MeasuredScheme {
  std::string name;  // of its page in docs/schemes, and what is special: "rope", "rope-yarn", "alibi-symmetric"
  Stage stage = Stage::input;
  std::string about;  // the numbers it is measured with
  bool operator==(const MeasuredScheme&) const = default;
};

// By stage. Functions that take a scheme's name throw Error for one that is not among these.
POSENC_API const std::vector<MeasuredScheme>& measured_schemes();

// ---- Scores by places ----

struct ScoreMatrix {
  std::int64_t heads = 0;
  std::int64_t places = 0;
  std::vector<double> values;  // [heads, places, places], query first; what a causal mask hides is -infinity
};

// y_ij (reference_attend.h) where one and the same token stands at every place, so that only places differ. Throws
// Error for less than 1 place, and for more than the scheme has.
POSENC_API ScoreMatrix score_matrix(std::string_view scheme, std::int64_t places = kTrainedPlaces,
                                    MaskKind mask = MaskKind::bidirectional);

// ---- Does the rotation decay with distance? ----

struct DecayOptions {
  std::int64_t dim = 128;
  double base = 10000.0;
  std::int64_t longest = 1024;  // distances 0, step, 2 step, ... up to it
  std::int64_t step = 4;
  std::int64_t samples = 256;
};

// Curves over the distance r; theta_p = base^(-2p/dim). Queries and keys of variance 1, scores over sqrt(dim).
struct DecayCurves {
  std::vector<std::int64_t> distances;
  // RoFormer's bound, arXiv 2104.09864, (37): (2/d) sum_{i=1}^{d/2} |S_i|, S_i = sum_{j<i} e^(i r theta_j). At r = 0 it
  // is (d/2 + 1) / 2.
  std::vector<double> bound;
  std::vector<double> equal;          // q = k = (1, ..., 1): the score over that at r = 0
  std::vector<double> random_mean;    // q and k drawn apart from each other
  std::vector<double> random_spread;  // their standard deviation
  std::vector<double> table_mean;     // rows of a random table, r apart, in place of turned vectors
  std::vector<double> table_spread;
};

// Throws Error for a dim that is not even or below 2, and for counts below 1.
POSENC_API DecayCurves decay_curves(const DecayOptions& options = {});

// ---- Does the position drown the token? ----

struct SignalToNoise {
  double multiplier = 1.0;  // M
  double ratio = 0.0;       // power of the token's part over the position's, after the norm; infinite: no position left
  double cosine = 0.0;      // mean cosine between what the norm makes of M x + p and of x
};

// Of norm(M x + p) over kMeasuredPlaces places and random tokens, for each M. The norm divides both parts by one
// number; `layer` takes the mean over channels from both before, and with it all of a position that is equal in every
// channel. Throws Error for a scheme of another stage.
POSENC_API std::vector<SignalToNoise> signal_to_noise(std::string_view scheme, std::span<const double> multipliers,
                                                      QkNorm::Kind norm = QkNorm::Kind::layer);

}  // namespace posenc
