"""Values that sound secret are starred out wherever they stand, and nothing else moves."""

import pytest

from headrace.errors import HeadraceError, Source, Span, without_secrets


@pytest.mark.parametrize(
    "text",
    [
        "password = 'hush'",
        "password =\n   'hush'",
        "password\n= 'hush'",
        'password = "hush"',
        "password = -- it's here\n 'hush'",
        "password = /* mine */ 'hush'",
        "password = 'it''s hush'",
        "password = 'not ' 'hush'",
        "password = r'hush'",
        "`kafka.sasl.jaas.config` = 'hush'",
        "kafka.sasl.oauthbearer.private.key = 'hush'",
        "`ssl.keystore.key` = 'hush'",
        "SET spark.hadoop.fs.azure.account.key.mine = 'hush'",
        "api_key = 'hush'",
        "url = 'postgresql://ann:hush@host/db'",
        "url = 'postgresql://db/shop?user=ann&password=hush'",
        "url = 'host=h password=hush'",
        "url = 'host=h password = hush&hush;hush,hush user=ann'",
        "url = 'host=h password=''a hush'' user=ann'",
        r"url = 'host=h password=\'a hush\' user=ann'",
        "url = \"host=h password='a hush' user=ann\"",
        "url = 'host=h\npassword=hush'",
        "/* it's */ url = 'password=hush'",
        "`it's` = 'password=hush'",
        "password = 'hush",
        "url = 'password=hush",
    ],
)
def test_a_secret_is_starred(text):
    shown = without_secrets(f"WITH (topic = 't', {text}, format = 'json')")
    assert "hush" not in shown
    assert shown.startswith("WITH (topic = 't', ")
    assert len(shown) == len(f"WITH (topic = 't', {text}, format = 'json')")
    assert shown.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text", ["key = 'id'", "PRIMARY KEY (id)", "key_format = 'json'", "SELECT key, 'a' FROM t", "ON a.token = b.token"]
)
def test_other_values_stay(text):
    assert without_secrets(text) == text


def test_the_line_of_an_error_shows_no_secret_that_began_on_the_line_before():
    text = "CREATE SINK s WITH (password =\n  'hush', tpoic = 't')"
    at = text.index("tpoic")
    told = HeadraceError("unknown option", span=Span(Source("a.sql", text), at, at + 5)).report()
    assert "hush" not in told
    assert "tpoic" in told
