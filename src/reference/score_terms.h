// The score stage: what each term adds to the score of one query and one key.
//
// One overload a scheme. A content term is inside the scale and sees no x; a bias term may look at x, the content score
// of every key.
//
// Called by FormulaScores::sum_of_terms, which says which are which (kIsContent). A bias term is not called for a key
// that the query does not see.
#pragma once

#include <cstdint>

#include "posenc/attention.h"
#include "posenc/schemes.h"
#include "reference/attention_row.h"

namespace posenc::inline v0_2::reference {

double term(const Alibi&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const T5Bias&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const ClippedBias&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const GridBias&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const Kerple&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const Fire&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const Sandwich&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const MlpBias&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const ShawKeys&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const TransformerXl&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const XlNet&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const Deberta&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const DecomposedHw&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const ContextualPosition&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const ForgetGate&, const ScoreWeights&, const Row& row, std::int64_t j);
double term(const DistanceLogits&, const ScoreWeights&, const Row& row, std::int64_t j);

}  // namespace posenc::inline v0_2::reference
