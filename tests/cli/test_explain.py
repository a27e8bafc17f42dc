import json
from xml.etree import ElementTree

from headrace import Application
from headrace.errors import Source
from headrace.plan.layout import arrange
from headrace.plan.steps import Kind
from headrace.plan.topology import as_dict, from_dict, topology


def plan_of(text):
    return Application().add(Source("test", text)).plan


STREAM = "CREATE STREAM s (k STRING, x INT) WITH (connector = 'memory');"


def test_text_is_the_plan_of_each_output(headrace, application):
    result = headrace("explain", application)
    assert result.exit_code == 0
    assert result.stdout == Application.load(application).explain() + "\n"
    assert "state: one row per group, until the watermark passes window_end" in result.stdout
    assert "warning: state grows for ever" in result.stdout


def test_one_relation_can_be_asked_for(headrace, application):
    result = headrace("explain", application, "views")
    assert result.stdout == Application.load(application).explain("views") + "\n"
    unknown = headrace("explain", application, "vews")
    assert unknown.exit_code == 1
    assert "views" in unknown.stderr


def test_without_outputs_every_view_is_explained(headrace, application):
    application.write_text(STREAM + "CREATE VIEW a AS SELECT x FROM s; CREATE VIEW b AS SELECT k FROM s;")
    result = headrace("explain", application)
    assert [line for line in result.stdout.splitlines() if line.startswith("view ")] == ["view a", "view b"]
    graph = json.loads(headrace("explain", application, "--output", "json").stdout)
    assert [node["name"] for node in graph["nodes"] if node["name"]] == ["a", "b"]


def test_without_any_query_there_is_nothing_to_explain(headrace, application):
    application.write_text(STREAM)
    result = headrace("explain", application)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: nothing to explain")


def test_what_is_shared_stands_in_the_graph_once(application):
    graph = topology(Application.load(application).plan)
    titles = [node.title for node in graph.nodes]
    assert titles.count("read stream clicks") == 1
    source = next(node for node in graph.nodes if node.role == "source")
    assert sum(start == source.id for start, _ in graph.edges) == 2
    assert [node.title for node in graph.nodes if node.role == "output"] == [
        "screen: query_1",
        "screen: query_2",
    ]


def test_a_view_that_two_outputs_read_stands_in_the_graph_once():
    graph = topology(
        plan_of(STREAM + "CREATE VIEW v AS SELECT x FROM s WHERE x > 1; SELECT x FROM v; SELECT x + 1 AS y FROM v;")
    )
    views = [node for node in graph.nodes if node.name == "v"]
    assert len(views) == 1
    assert sum(start == views[0].id for start, _ in graph.edges) == 2


def test_edges_know_how_rows_come_and_go():
    graph = topology(plan_of(STREAM + "SELECT k, count(*) AS n FROM s GROUP BY k;"))
    rows = {node.title: node.rows for node in graph.nodes}
    assert rows["read stream s"] is Kind.APPEND
    assert rows["group by k"] is Kind.CHANGELOG
    assert rows["screen: query_1"] is Kind.CHANGELOG


def test_one_output_of_the_graph(application):
    graph = topology(Application.load(application).plan, "query_2")
    assert [node.title for node in graph.nodes if node.role == "output"] == ["screen: query_2"]


def test_json_has_nodes_edges_and_warnings(headrace, application):
    graph = json.loads(headrace("explain", application, "--output", "json").stdout)
    ids = {node["id"] for node in graph["nodes"]}
    assert all({edge["from"], edge["to"]} <= ids for edge in graph["edges"])
    assert graph["warnings"] == ["state grows for ever: one row for each page"]
    assert {node["rows"] for node in graph["nodes"]} == {"append", "changelog"}


def test_a_graph_is_the_same_after_json(application):
    graph = topology(Application.load(application).plan)
    assert from_dict(json.loads(json.dumps(as_dict(graph)))) == graph


def test_mermaid_escapes_what_it_would_read_as_its_own(headrace, application):
    text = headrace("explain", application, "--output", "mermaid").stdout
    lines = text.splitlines()
    assert lines[0] == "flowchart LR"
    assert "#60;a #38; #34;b#34;#62;" in text
    assert sum(" --> " in line or " ==> " in line for line in lines) == 10
    assert all(line.count('"') == 2 for line in lines if '["' in line or '("' in line)


def test_svg_is_well_formed_and_shows_every_node(headrace, application):
    text = headrace("explain", application, "--output", "svg").stdout
    root = ElementTree.fromstring(text)
    words = " ".join("".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "page <> '<a & \"b\">'" in words
    assert "state: one row per group, for ever" in words
    graph = topology(Application.load(application).plan)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) == len(graph.nodes) + 1


def test_boxes_do_not_overlap_and_lines_run_to_the_right():
    names = [f"n{number}" for number in range(12)]
    sizes = {name: (100.0 + number, 30.0 + 7 * (number % 4)) for number, name in enumerate(names)}
    pairs = [(0, 3), (1, 3), (2, 9), (3, 4), (3, 5), (4, 6), (5, 6), (0, 6), (6, 7), (6, 8), (2, 10), (8, 10)]
    edges = [(f"n{start}", f"n{end}") for start, end in pairs]
    picture = arrange(sizes, edges)
    for one in picture.boxes:
        assert one.x >= 0 and one.y >= 0
        assert one.x + one.width <= picture.width and one.y + one.height <= picture.height
        for other in picture.boxes:
            if one is not other and one.x == other.x:
                assert one.y + one.height < other.y or other.y + other.height < one.y
    for line in picture.lines:
        assert all(a[0] < b[0] for a, b in zip(line.points, line.points[1:], strict=False))


def test_an_empty_graph_has_a_picture():
    assert arrange({}, []).boxes == ()
