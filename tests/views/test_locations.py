"""Where views are: noted, found by name, and forgotten when they are gone."""

import json

import pytest

from headrace.errors import HeadraceError, PlanError
from headrace.views.locations import Location, find, find_application, known, register, unregister


@pytest.fixture
def noted(tmp_path):
    def note(application, *views, folder="state"):
        file = tmp_path / folder / f"{application}.sqlite"
        file.parent.mkdir(exist_ok=True)
        file.touch()
        location = Location(application, "sqlite", str(file), views, file=str(tmp_path / folder / f"{application}.sql"))
        register(location, tmp_path)
        return location

    return note


def test_a_view_is_found_by_name_in_any_case(tmp_path, noted):
    shop = noted("shop", "Best", "worst")
    noted("bank", "totals")
    assert find("best", home=tmp_path) == shop
    assert [each.application for each in known(tmp_path)] == ["bank", "shop"]
    assert find_application("shop", tmp_path) == [shop]


def test_a_second_note_replaces_the_first(tmp_path, noted):
    noted("shop", "old")
    shop = noted("shop", "new")
    assert known(tmp_path) == [shop]
    unregister(shop, tmp_path)
    assert known(tmp_path) == []


def test_unknown_names_are_told_with_what_was_meant(tmp_path, noted):
    noted("shop", "best_bid")
    with pytest.raises(PlanError, match='unknown view "best_bit"') as caught:
        find("best_bit", home=tmp_path)
    assert caught.value.hint == 'Did you mean "best_bid"?'
    with pytest.raises(PlanError, match="no views of an application") as caught:
        find("best_bid", "shpo", tmp_path)
    assert caught.value.hint == 'Did you mean "shop"?'
    with pytest.raises(PlanError) as caught:
        find("x", home=tmp_path / "nothing")
    assert "once their application has been started" in caught.value.hint


def test_a_view_of_several_applications_needs_the_application(tmp_path, noted):
    shop = noted("shop", "best")
    noted("bank", "best")
    with pytest.raises(PlanError, match="several applications") as caught:
        find("best", home=tmp_path)
    assert "--application" in caught.value.hint
    assert caught.value.detail == "They are bank and shop."
    assert find("best", "shop", tmp_path) == shop


def test_two_applications_of_one_name_are_told_apart_by_their_file(tmp_path, noted):
    first, second = noted("shop", "best"), noted("shop", "best", folder="copy")
    with pytest.raises(PlanError) as caught:
        find("best", "shop", tmp_path)
    assert first.file in caught.value.detail
    assert find("best", second.file, tmp_path) == second


def test_notes_on_what_is_gone_are_removed(tmp_path, noted):
    shop = noted("shop", "best")
    (tmp_path / "views" / "strange.json").write_text("[]")
    (tmp_path / "state" / "shop.sqlite").unlink()
    assert known(tmp_path) == []
    assert list((tmp_path / "views").iterdir()) == []
    assert shop.place not in json.dumps([str(each) for each in tmp_path.rglob("*.json")])


def test_passwords_are_never_noted(tmp_path):
    url = "postgresql://ann:hush@db/views?password=hush&application_name=x"
    note = register(Location("shop", "postgres", url, ("best",)), tmp_path)
    assert "hush" not in note.read_text()
    assert find("best", home=tmp_path).place == "postgresql://ann@db/views?application_name=x"


def test_a_store_on_a_server_is_reached_as_its_application_says(tmp_path, monkeypatch):
    from headrace.views import open as opening
    from headrace.views.located import open_located

    asked = []
    monkeypatch.setattr(opening, "open_store", lambda options, base, default: asked.append((options, base)))
    monkeypatch.setenv("DB_PASSWORD", "hush")
    file = tmp_path / "shop.sql"
    file.write_text(
        "CREATE MATERIALIZED VIEW best\n"
        "  WITH (store = 'postgres', url = 'postgresql://ann@db/v', password = '${DB_PASSWORD}')\n"
        "AS SELECT 1 AS x;"
    )
    location = Location("shop", "postgres", "postgresql://ann@db/v", ("best",), file=str(file))
    open_located(location)
    [(options, base)] = asked
    assert (options.url, options.password, base) == ("postgresql://ann@db/v", "hush", tmp_path)
    monkeypatch.delenv("DB_PASSWORD")
    with pytest.raises(HeadraceError, match="DB_PASSWORD has no value") as caught:
        open_located(location)
    assert "environment" in caught.value.hint
