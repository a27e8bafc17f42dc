"""Variables are filled, and no value can change the statement around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.language import fill, parse


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("SELECT '${A}'", {"A": "x"}, "SELECT 'x'"),
        ("SELECT ${A}", {"A": "5"}, "SELECT 5"),
        ("SELECT ${A} FROM ${T}", {"A": "-1.5e3", "T": "a.b"}, "SELECT -1.5e3 FROM a.b"),
        ("SELECT ${A}", {"A": "'a''b'"}, "SELECT 'a''b'"),
        ("SELECT '${A:-x y}', ${B:-3}", {}, "SELECT 'x y', 3"),
        ("SELECT '${A:-}'", {}, "SELECT ''"),
        ("SELECT '${A:-x}'", {"A": ""}, "SELECT ''"),
        ("SELECT '$${A}' $${B}", {}, "SELECT '${A}' ${B}"),
        ("-- ${A}\n/* ${B} */ SELECT `${C}`", {}, "-- ${A}\n/* ${B} */ SELECT `${C}`"),
        ("/* /* */ ' ${A} */ SELECT ${B} -- '", {"B": "2"}, "/* /* */ ' ${A} */ SELECT 2 -- '"),
        ("SELECT '${A}'", {"A": "o'neil\\"}, "SELECT 'o\\'neil\\\\'"),
        ('SELECT "${A}"', {"A": "say \"hi\" 'x'"}, 'SELECT "say \\"hi\\" \'x\'"'),
        ("SELECT r'${A}'", {"A": "\\d"}, "SELECT r'\\d'"),
        ("SELECT 'it''s ${A}', '\\'${A}'", {"A": "z"}, "SELECT 'it''s z', '\\'z'"),
        ("SELECT '-- ${A}'", {"A": "z"}, "SELECT '-- z'"),
    ],
)
def test_variables_are_filled(text, values, filled):
    assert fill(text, "app.sql", values).text == filled


@pytest.mark.parametrize(
    ("text", "values", "message", "place"),
    [
        ("SELECT 1,\n  '${HOST}'", {"HOSTS": "x"}, "the variable HOST has no value", "${HOST}"),
        ("SELECT ${A}", {"A": "1; DROP TABLE x"}, "is not one name, number or string", "${A}"),
        ("SELECT ${A}", {"A": "1 OR 1"}, "is not one name", "${A}"),
        ("SELECT ${A}", {"A": "'a' || 'b'"}, "is not one name", "${A}"),
        ("SELECT ${A}", {"A": "1 -- x"}, "is not one name", "${A}"),
        ("SELECT ${A}", {"A": ""}, "is not one name", "${A}"),
        ("SELECT ${1x}", {}, "is not a variable", "${1x}"),
        ("SELECT ${A", {"A": "1"}, "is not a variable", "${A"),
        ("SELECT r'${A}'", {"A": "'"}, "holds a quote", "${A}"),
    ],
)
def test_a_wrong_variable_is_an_error_at_its_place(text, values, message, place):
    with pytest.raises(HeadraceError, match=message) as raised:
        fill(text, "app.sql", values)
    assert raised.value.span.text == place


def test_a_missing_variable_hints_at_a_near_one():
    with pytest.raises(HeadraceError) as raised:
        fill("SELECT '${HOST}'", "app.sql", {"HOSTS": "x"})
    assert raised.value.hint == "Did you mean HOSTS?"


@given(st.text())
def test_no_value_escapes_from_a_string(value):
    for text in ("SELECT '${A}'", 'SELECT "${A}"', "SELECT 'x''${A}\\''"):
        (statement,) = parse(fill(text, "app.sql", {"A": value}))
        literal = statement.query.tree.selects[0]
        assert literal.is_string
        assert value in literal.name


@given(st.text(alphabet="a1'\\;-/* \"`$.", max_size=12))
def test_no_value_outside_a_string_adds_a_statement(value):
    try:
        source = fill("SELECT ${A} AS x", "app.sql", {"A": value})
        statements = parse(source)
    except HeadraceError:
        return
    assert len(statements) == 1
    assert len(statements[0].query.tree.selects) == 1
