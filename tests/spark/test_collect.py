"""Rows of Spark as plain values of Python."""

import pytest

from headrace import Application
from headrace.values import to_json_line

pytestmark = pytest.mark.spark


def test_maps_are_maps_also_when_they_are_empty_or_inside_something_else(engine):
    [answered] = (
        Application()
        .sql("""
            SET shuffle_partitions = 1;
            SELECT from_json('{}', 'MAP<STRING, INT>') AS none, map(1, map('a', cast(NULL AS INT))) AS two,
                array(from_json('{}', 'MAP<STRING, INT>')) AS listed,
                named_struct('m', from_json('{}', 'MAP<STRING, INT>'), 'n', 1) AS held,
                map(named_struct('a', 1), 2) AS odd, cast(NULL AS MAP<STRING, INT>) AS absent,
                parse_json('{"a": [1]}') AS loose, INTERVAL 5 SECONDS AS pause
        """)
        .run_once()
    )
    [row] = answered.rows()
    assert row == {
        "none": {},
        "two": {1: {"a": None}},
        "listed": [{}],
        "held": {"m": {}, "n": 1},
        "odd": [({"a": 1}, 2)],
        "absent": None,
        "loose": {"a": [1]},
        "pause": "INTERVAL '05' SECOND",
    }
    assert to_json_line(row).startswith('{"none": {}, "two": {"1": {"a": null}}, "listed": [{}], "held": {"m": {}')
