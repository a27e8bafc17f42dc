"""Streams that begin at a time: the rows of before are not read, neither at first nor after a stop."""

import os
from datetime import UTC, datetime

from headrace.plan.beginning import FILE, Beginning
from support.topics import new_topic, send

AT = datetime(2024, 5, 1, tzinfo=UTC)
NOON = int(AT.timestamp() * 1000)
MINUTE = 60_000


def letter(folder, number, amount, modified):
    (folder / f"{number}.json").write_text(f'{{"k": "a", "v": {amount}}}\n')
    os.utime(folder / f"{number}.json", (modified / 1000, modified / 1000))


def totals(application):
    return {row["source"]: row["total"] for row in application.rows("totals")}


def test_from_a_time(application, servers, tmp_path):
    topic, old = new_topic(servers, partitions=1), new_topic(servers, partitions=1)
    send(servers, topic, [{"k": "a", "v": 1}], timestamp=NOON - MINUTE)
    send(servers, topic, [{"k": "a", "v": 10}], timestamp=NOON)
    send(servers, topic, [{"k": "a", "v": 100}], timestamp=NOON + MINUTE)
    send(servers, old, [{"k": "a", "v": 1}], timestamp=NOON - MINUTE)
    letters = tmp_path / "letters"
    letters.mkdir()
    for number, (amount, modified) in enumerate([(1, -MINUTE), (10, 0), (100, MINUTE)]):
        letter(letters, number, amount, NOON + modified)
    text = f"""
        CREATE STREAM new (k STRING, v INT) WITH (KAFKA, topic = '{topic}', format = 'json', start = 'latest');
        CREATE STREAM old (k STRING, v INT) WITH (KAFKA, topic = '{old}', format = 'json');
        CREATE STREAM letters (k STRING, v INT)
          WITH (connector = 'files', path = 'letters', max_files_per_batch = 1);
        CREATE STREAM whole (k STRING, v INT) WITH (connector = 'files', path = 'letters');
        CREATE MATERIALIZED VIEW totals AS SELECT source, sum(v) AS total FROM (
          SELECT 'new' AS source, v FROM new UNION ALL SELECT 'old', v FROM old
          UNION ALL SELECT 'letters', v FROM letters UNION ALL SELECT 'whole', v FROM whole) GROUP BY source;
    """.replace("(KAFKA,", f"(connector = 'kafka', bootstrap_servers = '{servers}',")
    started = application(text)
    state = tmp_path / ".headrace" / started.name
    state.mkdir(parents=True)
    (state / FILE).write_text(Beginning(AT, ("new", "old", "letters")).text())
    started.start().process_available()
    assert totals(started) == {"new": 110, "letters": 110, "whole": 111}, "a topic with nothing later: its end"
    started.stop()
    send(servers, old, [{"k": "a", "v": 5}])
    letter(letters, 4, 7, NOON - 2 * MINUTE)  # a late copy of an old file
    letter(letters, 5, 1000, NOON + 2 * MINUTE)
    again = application(text)
    again.start().process_available()
    assert totals(again) == {"new": 110, "old": 5, "letters": 1110, "whole": 1118}
    again.stop()
