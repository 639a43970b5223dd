// Scales of queries that depend on the position, against the softmax that flattens as a sequence grows.
//
//   Llama 4      1 + attn_scale ln(1 + floor((i + 1) / floor_scale))     on layers that do not rotate
//   Ministral 3  1 + beta ln(1 + floor(i / original_max_position_embeddings))
//   Qwen 1       max(1, ln(i + 1) / ln(seq_length))
//   Beam         (1 + (i + 1) / length)^exponent                          on layers that do not rotate
//   Inkling      1 + alpha ln(max(1, (i + 1) / floor))                    on layers without a window
//
// Scalable-Softmax, arXiv 2501.19399, is Llama 4's source; log-n is from the entropy of attention (kexue.fm 8823).
// In the wild: Llama 4 counts from 1 and Ministral from 0, so that the first step comes a token earlier. Hugging Face
// takes the index in the cache for i in both, so that left padding counts; vLLM applies Llama 4's only when it is asked
// to serve more than 32768 tokens. Qwen's own code makes a table of 32767 entries; llama.cpp leaves log-n out.
#include <algorithm>
#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "posenc/scores.h"

namespace posenc::inline v0_2 {
namespace {

void require(std::optional<Problem> problem) {
  if (problem) throw Error("query_scale", *problem);
}

void require_finite(std::string_view field, double value) {
  if (std::isfinite(value)) return;
  throw Error("query_scale", {std::string(field), "be a finite number", formatted("{}", value)});
}

double scale(std::monostate, double) { return 1.0; }

double scale(const Llama4Temperature& s, double i) {
  require_finite("attn_scale", s.attn_scale);
  require(math::check_above_zero("floor_scale", s.floor_scale));
  return std::log1p(std::floor((i + 1.0) / s.floor_scale)) * s.attn_scale + 1.0;
}

double scale(const MinistralTemperature& s, double i) {
  require_finite("beta", s.beta);
  require(math::check_at_least("original_max_position_embeddings", s.original_max_position_embeddings, 1));
  return 1.0 + s.beta * std::log1p(std::floor(i / static_cast<double>(s.original_max_position_embeddings)));
}

double scale(const LogNScale& s, double i) {
  require(math::check_at_least("seq_length", s.seq_length, 2));
  return std::max(1.0, std::log(i + 1.0) / std::log(static_cast<double>(s.seq_length)));
}

double scale(const BeamTemperature& s, double i) {
  require_finite("exponent", s.exponent);
  require(math::check_above_zero("length", s.length));
  return std::exp(s.exponent * std::log1p((i + 1.0) / s.length));
}

double scale(const InklingTemperature& s, double i) {
  require_finite("alpha", s.alpha);
  require(math::check_above_zero("floor", s.floor));
  return 1.0 + s.alpha * std::log(std::max(1.0, (i + 1.0) / s.floor));
}

}  // namespace

double query_scale(const QueryScale& scheme, std::int64_t position) {
  require(math::check_at_least("position", position, 0));
  return std::visit([&](const auto& s) { return scale(s, static_cast<double>(position)); }, scheme);
}

}  // namespace posenc::inline v0_2
