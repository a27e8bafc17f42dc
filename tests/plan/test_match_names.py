"""The names of patterns, by which their state is shown."""

from headrace.application import Application
from headrace.plan.match_names import pattern_names
from headrace.plan.topology import topology

SEARCH = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES b.v AS v PATTERN (a b) WITHIN INTERVAL 1 DAY)"
APPLICATION = f"""
CREATE STREAM s (k INT, at TIMESTAMP, v INT, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE VIEW pairs AS SELECT * FROM s {SEARCH};
CREATE VIEW more AS SELECT k, v FROM pairs UNION ALL SELECT k, v FROM s {SEARCH} UNION ALL SELECT k, v FROM s {SEARCH};
CREATE SINK shown WITH (connector = 'console') AS SELECT * FROM more UNION ALL SELECT * FROM s {SEARCH};
"""


def test_a_pattern_is_called_after_the_text_in_which_it_stands():
    names = pattern_names(Application().sql(APPLICATION).plan)
    assert list(names.values()) == ["pattern pairs", "pattern more", "pattern more 2", "pattern shown"]


def test_a_node_of_the_topology_knows_the_name_of_its_state():
    graph = topology(Application().sql(APPLICATION).plan)
    named = {node.operator: node.title for node in graph.nodes if node.operator is not None}
    assert set(named) == {"pattern pairs", "pattern more", "pattern more 2", "pattern shown"}
    assert set(named.values()) == {"search the rows of each k for a b within 1 day"}
