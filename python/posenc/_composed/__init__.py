"""Attention of any layer by plain operations of torch: exact, differentiable in all that it is given, on any device.

    x_ij = scale tau_i (q~_i . k~_j + content terms)          q~, k~: rotated; tau: query scale
    y_ij = x_ij + bias terms          z_ij = cap tanh(y_ij / cap), or the cap before the biases
    o_i  = sum_j p_ij (v_j + value terms),  p_ij = exp(z_ij) / (sum_j exp(z_ij) + exp(sink))

One file a stage. `layer.py` has what a LayerPlan says, as numbers and texts that a graph can hold; `terms_of_distance`,
`terms_of_content` and `terms_along_row` the score terms; `rotation`, `regions`, `values`, `mask` the rest; `rows` where
tokens stand; `check` what is refused; `attend` the equation. Scores are made for a chunk of queries at a time, so that
memory is O(chunk x keys); in a backward pass a chunk is computed again.

Sums are in float32, of float64 in float64, and under autocast the same.
"""
