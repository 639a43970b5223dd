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

namespace posenc::inline v0_2 {

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

// ---- Properties ----

// The encoding of a place: of an input scheme the row that is added. Of all others, what the last place's queries (a
// basis of the head's channels) see of one key, were it there: their scores; of values, the output.
enum class Property : std::uint8_t {
  unique_f32,   // the smallest distance between the encodings of two places, in f32
  unique_bf16,  // the same in bf16
  affine,       // what the best affine map from p to p + 1, one for all p, leaves of the step: rms over rms
  smooth,       // the largest step from a place to the next, over the rms distance between two places
  fixed_rule,   // learned numbers that a longer sequence needs, per place
  generalises,  // how far scores beyond the trained length rise above those within it, over the latter's range
  axes,         // the smallest distance between the encodings of two places of a square, in f32
  relative,     // how far scores of the same two tokens differ at equal i - j, over the range of all scores
  isometry,     // the largest relative change of the length of a key as queries see it, of a value, of an embedding
  decay,        // how far the mean score of random tokens falls from near to far, in standard deviations
};
inline constexpr std::int64_t kProperties = 10;
POSENC_API std::string_view name(Property property) noexcept;

// What a number must be to pass.
enum class Bound : std::uint8_t { above, at_most, at_least };
POSENC_API std::string_view name(Bound bound) noexcept;

struct PropertyRule {
  Property property = Property::unique_f32;
  Bound bound = Bound::above;
  double threshold = 0.0;
  std::string_view question;  // "are all places told apart"
};

// In the order of Property. The thresholds tell rounding from what a scheme does: docs/properties.md.
POSENC_API std::span<const PropertyRule> property_rules();

enum class Judgement : std::uint8_t { passes, fails, does_not_apply };
POSENC_API std::string_view name(Judgement judgement) noexcept;

struct PropertyResult {
  Property property = Property::unique_f32;
  Judgement judgement = Judgement::does_not_apply;
  double number = 0.0;  // infinite where there is no encoding at all; NaN where the question does not apply
  std::string where;    // "places 31 and 32", or empty
};

// Throws Error for a name that is not known, as the next does.
POSENC_API PropertyResult measure_property(std::string_view scheme, Property property);
// One for each property, in their order.
POSENC_API std::vector<PropertyResult> measure_properties(std::string_view scheme);

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
  std::vector<double> table_mean;     // rows of a random table, r apart, in place of rotated vectors
  std::vector<double> table_spread;
};

// Throws Error for a dim that is not even or below 2, and for counts below 1.
POSENC_API DecayCurves decay_curves(const DecayOptions& options = {});

// ---- Signal to noise: does the position drown the token? ----

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

// ---- What does it cost? ----

struct CostSizes {
  std::int64_t tokens = 512;  // queries, and keys: all see all
  std::int64_t heads = 4;
  std::int64_t head_dim = 64;
  bool operator==(const CostSizes&) const = default;
};

// Of one sequence, beside plain attention, in one layer; in the input stage, once.
struct Cost {
  double additions = 0.0;
  double products = 0.0;
  double parameters = 0.0;  // learned numbers
  double bytes = 0.0;       // what is read beside queries, keys and values: tables in f32
};

// Counted on what a scheme lowers to (docs/architecture.md), which is what kernels compute. Tables that no token
// changes are made once, and not counted. Throws Error, as the next, for a size below 1.
POSENC_API Cost cost(std::string_view scheme, const CostSizes& sizes = {});
// q k^T and the weighted sum of values; the bytes are those of keys and values.
POSENC_API Cost plain_attention_cost(const CostSizes& sizes = {});

// ---- (x_i + p_i) W_Q W_K^T (x_j + p_j)^T, multiplied out ----

// Root mean squares over random tokens, W_Q and W_K with rows of length 1 on average, and all pairs of the first
// kTrainedPlaces places; over sqrt(head_dim).
struct FourTerms {
  double token_token = 0.0;
  double token_position = 0.0;
  double position_token = 0.0;
  double position_position = 0.0;
};

// Throws Error for a scheme of another stage than input.
POSENC_API FourTerms four_terms(std::string_view scheme);

// ---- Is order seen? ----

// Outputs of attention over random embeddings by token id, under a mask. Largest absolute differences of a channel;
// channels are of variance 1.
struct OrderSeen {
  double dogs = 0.0;          // "the dog chased another dog": between the two dogs
  double sentences = 0.0;     // "I love you", "you love I": between the outputs of equal words
  double equivariance = 0.0;  // queries exchanged with their places kept: outputs against those exchanged alike
  double invariance = 0.0;    // keys and values exchanged together: outputs against those before
};
struct OrderExperiment {
  OrderSeen all_see_all;
  OrderSeen causal;
};
POSENC_API OrderExperiment order_experiment(std::string_view scheme);

}  // namespace posenc::inline v0_2
