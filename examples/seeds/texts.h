// The five texts, each in its own order: every file names what stands there and puts posenc's result beside it.
#pragma once

#include "report.h"

namespace seeds {

void text_000(Report& report);  // RoPE, its matrix, its form by elements, transformers 4.28
void text_001(Report& report);  // absolute, Shaw, XLNet, T5; then RoPE by complex numbers
void text_002(Report& report);  // sinusoids, and Meta's complex code
void text_003(Report& report);  // order, integers, bits, and RoPE in two codes
void text_004(Report& report);  // a notebook: BERT, GPT, sinusoids, RoPE in numbers

// Parts of text 001: (6) to (10), (11) to (24), (25) to (27), and its figure of decay.
void xlnet_and_t5(Report& report);
void derivation_of_rope(Report& report);
void many_channels(Report& report);
void decay(Report& report);
// Parts of text 003: section 3.2, and section 5.
void binary(Report& report);
void rope_in_two_codes(Report& report);
// A part of text 004: In [36] to In [47].
void matrices_of_the_notebook(Report& report);

}  // namespace seeds
