"""What position encodings are good for, measured: docs/properties.md has the definitions, and the tables.

    from posenc import properties

    print([scheme.name for scheme in properties.measured_schemes()])
    for result in properties.measure_properties("binary"):
        print(result.property_, result.judgement, result.number, result.where)
"""

from ._posenc import cost as cost
from ._posenc import decay_curves as decay_curves
from ._posenc import four_terms as four_terms
from ._posenc import measure_properties as measure_properties
from ._posenc import measure_property as measure_property
from ._posenc import measured_schemes as measured_schemes
from ._posenc import order_experiment as order_experiment
from ._posenc import plain_attention_cost as plain_attention_cost
from ._posenc import property_rules as property_rules
from ._posenc import score_matrix as score_matrix
from ._posenc import signal_to_noise as signal_to_noise

__all__ = [
    "cost",
    "decay_curves",
    "four_terms",
    "measure_properties",
    "measure_property",
    "measured_schemes",
    "order_experiment",
    "plain_attention_cost",
    "property_rules",
    "score_matrix",
    "signal_to_noise",
]
