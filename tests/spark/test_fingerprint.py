"""What a checkpoint was made by: what an earlier release noted, and what is told if it is another query."""

import json

import pytest

from headrace.errors import PlanError
from headrace.jobs.texts import plan_text
from headrace.spark.fingerprint import FILE, changes, check, fingerprint

TEXT = """
CREATE STREAM s (k STRING, v INT, c AS v * 2) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW o AS SELECT k, max(c) AS m FROM s GROUP BY k;
"""


class Notes(dict):
    """A folder in memory."""

    path = "state"

    def make(self):
        return self

    def read(self, name):
        return self.get(name)

    def write(self, name, text):
        self[name] = text


@pytest.fixture
def checked(tmp_path):
    """Check a text against what a folder holds, and return what it holds then."""

    def check_text(text, folder):
        plan = plan_text(text, "app", tmp_path, {})
        check(plan.outputs[0], plan, folder)
        return json.loads(folder[FILE])

    return check_text


def earlier(noted):
    """Return what version 1 noted of a query."""
    return {"version": 1, "shuffle_partitions": noted["shuffle_partitions"], "steps": noted["steps"]}


def test_a_new_checkpoint_notes_what_it_depends_on(checked):
    noted = checked(TEXT, Notes())
    assert noted["version"] == 2
    assert noted["facts"] == {"column k of s": "STRING", "column v of s": "INT", "column c of s": "v * 2"}
    assert noted["steps"][0].startswith("select k")


def test_another_query_is_refused_in_readable_words(checked):
    folder = Notes()
    before = checked(TEXT, folder)
    with pytest.raises(PlanError) as caught:
        checked(TEXT.replace("v * 2", "v * 3").replace("k STRING", "k INT"), folder)
    assert caught.value.message == 'the query of "o" is not the one that its checkpoint was made by'
    assert caught.value.detail == "What changed: column k of s is now INT | column c of s is now v * 3."
    assert "--fresh" in caught.value.hint
    assert json.loads(folder[FILE]) == before


def test_what_an_earlier_release_noted_is_accepted_and_noted_anew(checked):
    now = checked(TEXT, Notes())
    folder = Notes({FILE: json.dumps(earlier(now))})
    assert checked(TEXT, folder) == now
    with pytest.raises(PlanError):
        checked(TEXT.replace("v * 2", "v * 3"), folder)


def test_what_an_earlier_release_noted_of_another_query_is_refused(checked):
    folder = Notes({FILE: json.dumps(earlier(checked(TEXT.replace("max", "min"), Notes())))})
    with pytest.raises(PlanError) as caught:
        checked(TEXT, folder)
    assert "MAX(c)" in caught.value.detail


def test_a_type_that_only_spark_knows_may_be_any(tmp_path):
    plan = plan_text(TEXT, "app", tmp_path, {})
    known = fingerprint(plan.outputs[0], plan)
    unknown = {**known, "facts": {**known["facts"], "column k of s": ""}}
    assert changes(known, unknown) == changes(unknown, known) == []
    gone = {**known, "facts": {"column v of s": "INT", "column c of s": "v * 2"}}
    assert changes(known, gone) == ["column k of s was STRING"]
    assert changes(gone, known) == ["column k of s is STRING, which is new"]
