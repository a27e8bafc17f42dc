from headrace.server.console.pictures import figures_of, picture_of
from headrace.server.services.runtime import NodeFigures
from server.console.fake_data import explained

GRAPH = explained().graph


def _overlap(a: dict[str, float], b: dict[str, float]) -> bool:
    across = a["x"] < b["x"] + b["width"] and b["x"] < a["x"] + a["width"]
    return across and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]


def test_boxes_do_not_overlap_in_either_direction() -> None:
    for down in (False, True):
        boxes = picture_of(GRAPH, live=True, down=down)["boxes"]
        assert len(boxes) == len(GRAPH.nodes)
        for number, box in enumerate(boxes):
            assert not any(_overlap(box, other) for other in boxes[number + 1 :])


def test_a_graph_that_runs_down_is_narrower() -> None:
    right, down = (picture_of(GRAPH, live=True, down=each) for each in (False, True))
    assert down["width"] < right["width"]
    assert down["height"] > right["height"]


def test_texts_and_figures_fit_into_their_box() -> None:
    for box in picture_of(GRAPH, live=True)["boxes"]:
        lines = 3 if box["role"] == "stateful" else 2
        assert box["rule"] + 17 + (lines - 1) * 16 <= box["y"] + box["height"]


def test_figures_of_a_step_that_has_none() -> None:
    assert figures_of([NodeFigures("n1")]) == {"n1": {"health": "unknown", "title": "no figures yet", "texts": []}}
