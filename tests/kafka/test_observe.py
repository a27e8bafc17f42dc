"""What an application observes, batch by batch; answers are the same with and without it."""

from support.topics import new_topic, send

TEXT = """
CREATE STREAM orders (k STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECOND)
  WITH (KAFKA, topic = 'TOPIC', format = 'json');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(amount) AS total, count(*) AS n FROM orders GROUP BY k;
CREATE MATERIALIZED VIEW minutes AS
  SELECT window_start, count(*) AS n FROM TUMBLE(orders, at, INTERVAL 1 MINUTE) GROUP BY window_start;
CREATE MATERIALIZED VIEW pairs AS SELECT a.k, count(*) AS n FROM orders a JOIN orders b ON a.k = b.k GROUP BY a.k;
"""
OBSERVE = "OBSERVE value AS SELECT count(*) AS n, max(amount) AS largest, count_if(amount > 50) AS big FROM orders;"


def order(k, amount, minute):
    return {"k": k, "amount": amount, "at": f"2024-01-01T10:{minute:02}:00Z"}


def answers(app):
    return {name: sorted(map(str, app.rows(name))) for name in ("totals", "minutes", "pairs")}


def test_figures_per_batch_and_in_total_and_the_same_answers(application, servers, tmp_path):
    topic = new_topic(servers)
    send(servers, topic, [order("a", 10, 0), order("b", 70, 0), {"k": "a", "amount": "broken"}])
    text = TEXT.replace("TOPIC", topic)
    app = application(text + OBSERVE)
    app.start().process_available()
    assert app.observed() == {"value": {"n": 2.0, "largest": 70.0, "big": 1.0}}, "dead records are no rows"
    send(servers, topic, [order("a", 5, 1)])
    app.process_available()
    assert app.observed() == {"value": {"n": 1.0, "largest": 5.0, "big": 0.0}}
    (totals,) = [each.observed_totals for each in app.progress() if each.observed_totals]
    assert totals == {"value": {"n": 3.0, "big": 1.0}}, "each row once, though views read it more often"
    app.stop()
    send(servers, topic, [order("b", 60, 2), order("c", 1, 3)])
    without = application(text)  # an OBSERVE that comes or goes is no other query: it goes on from its checkpoint
    without.start().process_available()
    found = answers(without)
    without.stop()
    without.forget()
    anew = application(text)
    anew.start().process_available()
    assert answers(anew) == found
    assert anew.observed() == {}
    anew.stop()
