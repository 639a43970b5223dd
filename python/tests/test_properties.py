"""What encodings are good for, as measured from Python: the numbers of docs/properties.md come from the same calls."""

import math

import numpy as np
import pytest

import posenc
from posenc import properties


def by_property(scheme):
    return {result.property_: result for result in properties.measure_properties(scheme)}


def test_schemes_and_rules():
    schemes = {scheme.name: scheme for scheme in properties.measured_schemes()}
    assert schemes["rope"].stage == "rotate" and schemes["binary"].stage == "input" and schemes["alibi"].about
    assert eval(repr(schemes["rope"]), vars(posenc)) == schemes["rope"]
    rules = properties.property_rules()
    assert [rule.property_ for rule in rules[:2]] == ["unique_f32", "unique_bf16"] and len(rules) == 10
    assert {rule.bound for rule in rules} == {"above", "at_most", "at_least"}
    assert rules[0].question == "are all places told apart in f32"


def test_a_scheme_is_judged_by_the_rules():
    results = by_property("binary")
    for rule in properties.property_rules():
        result = results[rule.property_]
        passes = {
            "above": result.number > rule.threshold,
            "at_most": result.number <= rule.threshold,
            "at_least": result.number >= rule.threshold,
        }[rule.bound]
        assert result.judgement == ("passes" if passes else "fails"), result
    assert results["smooth"].where == "from place 255 to 256"
    one = properties.measure_property("binary", "smooth")
    assert (one.number, one.where) == (results["smooth"].number, results["smooth"].where)
    assert repr(one).startswith("<PropertyResult(property_='smooth', judgement='fails', number=1.41")
    assert math.isnan(properties.measure_property("rope", "fixed_rule").number) == (
        properties.measure_property("rope", "fixed_rule").judgement == "does_not_apply"
    )


def test_names_that_are_not_known():
    with pytest.raises(ValueError, match="roep"):
        properties.measure_properties("roep")
    with pytest.raises(ValueError, match=r"\[measure_property\] property must be one of 'unique_f32'.* but is 'unique'"):
        properties.measure_property("rope", "unique")


def test_scores_by_places():
    matrix = properties.score_matrix("rope", places=8, mask="causal")
    scores = np.asarray(matrix.values)
    assert scores.shape == (matrix.heads, 8, 8) and scores.dtype == np.float64 and not scores.flags.writeable
    assert np.isneginf(scores[0][np.triu_indices(8, 1)]).all()
    # The rotation sees distances: equal ones have equal scores, to rounding.
    assert np.ptp(np.diagonal(scores[0], -3)) <= 1e-12 < np.ptp(scores[0][7])
    held = np.asarray(properties.score_matrix("alibi", places=4).values)  # lives as long as its numbers
    assert held.shape[1:] == (4, 4)
    with pytest.raises(ValueError, match="places"):
        properties.score_matrix("rope", places=0)


def test_decay():
    curves = properties.decay_curves(dim=16, longest=32, samples=8)
    assert curves.distances == tuple(range(0, 33, 4))
    assert curves.bound[0] == (16 / 2 + 1) / 2 and curves.equal[0] == 1.0
    assert len(curves.random_mean) == len(curves.table_spread) == 9
    with pytest.raises(ValueError, match="dim"):
        properties.decay_curves(dim=15)


def test_costs_and_experiments():
    usual, longer = properties.cost("alibi"), properties.cost("alibi", tokens=1024)
    assert longer.additions == 4 * usual.additions and usual.parameters == 0
    plain = properties.plain_attention_cost(tokens=512, heads=4, head_dim=64)
    assert plain.products == 2 * 512 * 512 * 4 * 64
    terms = properties.four_terms("sinusoidal")
    assert terms.token_token > 0 and terms.position_position > 0
    noise = properties.signal_to_noise("sinusoidal", [1, 8.0])
    assert [n.multiplier for n in noise] == [1.0, 8.0] and noise[1].cosine > noise[0].cosine
    seen = properties.order_experiment("nope")
    assert seen.all_see_all.dogs == 0.0 < seen.causal.dogs
    with pytest.raises(ValueError, match="stage"):
        properties.four_terms("rope")
