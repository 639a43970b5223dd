// The score stage: what each term adds to the score of one query and one key.
//
// One overload a scheme. A content term is inside the scale and sees no x; a bias term may look at x, the content score
// of every key.
//
// Beside each term stands its transpose, term_backward: it adds to the gradients of all that the term is made of, where
// d is that of the term. q and k as given, x, learned tables by their names, inputs of the call.
//
// Called by FormulaScores::sum_of_terms, which says which are which (kIsContent). A bias term is not called for a key
// that the query does not see. Transposes: FormulaGradients.
#pragma once

#include <cstdint>

#include "posenc/attention.h"
#include "posenc/schemes.h"
#include "reference/attention_row.h"
#include "reference/gradients.h"

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

// What the transpose of a term adds to.
struct TermGradient {
  RowGradient& row;    // q, x, keys, inputs
  NamedSums& learned;  // the term's
};

void term_backward(const Alibi&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const T5Bias&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const ClippedBias&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const GridBias&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const Kerple&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const Fire&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const Sandwich&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const MlpBias&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const ShawKeys&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const TransformerXl&, const ScoreWeights&, const Row& row, std::int64_t j, double d,
                   TermGradient& to);
void term_backward(const XlNet&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const Deberta&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const DecomposedHw&, const ScoreWeights&, const Row& row, std::int64_t j, double d,
                   TermGradient& to);
void term_backward(const ContextualPosition&, const ScoreWeights&, const Row& row, std::int64_t j, double d,
                   TermGradient& to);
void term_backward(const ForgetGate&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to);
void term_backward(const DistanceLogits&, const ScoreWeights&, const Row& row, std::int64_t j, double d,
                   TermGradient& to);

}  // namespace posenc::inline v0_2::reference
