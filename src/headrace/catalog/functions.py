"""The names of Spark's built-in functions, so that a misspelt one is found without a JVM."""

from functools import cache
from importlib.resources import files

from headrace.connectors.kafka.metadata import BY_FUNCTION


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGGREGATES = _names("""
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set collect_union corr count count_if
    count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric
    hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg
    max max_by mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance
    vector_avg vector_sum
""")
"""Functions that turn many rows into one value."""

GENERATORS = _names("""
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack
    variant_explode variant_explode_outer
""")
"""Functions that turn one row into many."""

OWN = frozenset({"proctime", "ingestion_time", *BY_FUNCTION})
"""Functions that Headrace adds; they stand only in computed columns of a stream."""


WITH_UNIT = frozenset({"timestampdiff", "timestampadd", "datediff", "date_diff", "dateadd", "date_add"})
"""Functions whose first argument may be a unit of time, a word; some are grammar and no function to Spark."""


@cache
def builtins() -> frozenset[str]:
    """Return the lower-case names of Spark's own functions.

    >>> "date_trunc" in builtins(), "date_truncate" in builtins()
    (True, False)
    """
    text = files("headrace.catalog").joinpath("functions.txt").read_text("utf-8")
    return frozenset(text.split()) | WITH_UNIT
