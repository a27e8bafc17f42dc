-- What sensors in a network report arrives as JSON lines in new files of a folder, up to 10 seconds out of order.

CREATE STREAM events (
  ts TIMESTAMP,
  src STRING NOT NULL,
  dst STRING NOT NULL,
  event_name STRING NOT NULL,
  event_group STRING NOT NULL,
  WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS
) WITH (connector = 'files', path = '${DATA:-data}/events');

-- 20 or more on one destination within 2 minutes, wherever the 2 minutes begin. The pattern takes as many as fit into
-- them, so a burst is one alert.
CREATE VIEW general_brute_force AS
  SELECT dst AS address, began_at, ended_at, events, evidence,
         concat('attempts: ', events, ', sources: ', sources) AS reason
  FROM (SELECT * FROM events WHERE event_group = 'generalbruteforce') MATCH_RECOGNIZE (
    PARTITION BY dst ORDER BY ts, src, event_name
    MEASURES FIRST(ts) AS began_at, LAST(ts) AS ended_at,
      count(*) AS events, count(DISTINCT src) AS sources, EVIDENCE(src) AS evidence
    PATTERN (attempt{20,}) WITHIN INTERVAL 2 MINUTES);

-- More than 5 different event names of one source within 3 minutes: the row that brings the sixth name, what was before it,
-- and what else comes in the 3 minutes.
CREATE VIEW http_scan AS
  SELECT src AS address, began_at, ended_at, events, evidence,
         concat('different probes: ', names, ' (', concat_ws(', ', probes), ')') AS reason
  FROM (SELECT * FROM events WHERE event_group = 'httpscan') MATCH_RECOGNIZE (
    PARTITION BY src ORDER BY ts, dst, event_name
    MEASURES FIRST(ts) AS began_at, LAST(ts) AS ended_at,
      count(*) AS events, count(DISTINCT event_name) AS names, array_sort(collect_set(event_name)) AS probes,
      EVIDENCE(event_name) AS evidence
    PATTERN (probe{5,}? sixth further*) WITHIN INTERVAL 3 MINUTES
    DEFINE sixth AS count(DISTINCT event_name) > 5);

-- Every event of this group. The pattern is one row; what it adds is the evidence.
CREATE VIEW peer_to_peer AS
  SELECT src AS address, at AS began_at, at AS ended_at, 1L AS events, evidence,
         concat(event_name, ' with ', dst) AS reason
  FROM (SELECT * FROM events WHERE event_group = 'p2p') MATCH_RECOGNIZE (
    PARTITION BY src ORDER BY ts, dst, event_name
    MEASURES transfer.ts AS at, transfer.dst AS dst, transfer.event_name AS event_name,
      EVIDENCE(event_name) AS evidence
    PATTERN (transfer));

CREATE VIEW found AS
  SELECT 'generalbruteforce' AS rule, address, began_at, ended_at, events, reason, evidence FROM general_brute_force
  UNION ALL
  SELECT 'httpscan', address, began_at, ended_at, events, reason, evidence FROM http_scan
  UNION ALL
  SELECT 'p2p', address, began_at, ended_at, events, reason, evidence FROM peer_to_peer;

-- What an alert says names it: the same input gives the same alerts, in any run.
CREATE VIEW alerts AS
  SELECT concat('alert-', left(sha2(concat_ws(' ', rule, address, unix_micros(began_at), reason), 256), 16)) AS alert_id,
         rule, address, began_at, ended_at, events, reason, evidence
  FROM found;

CREATE SINK alert_files WITH (connector = 'files', path = '${DATA:-data}/alerts')
  AS SELECT * FROM alerts;

CREATE SINK alerts_shown WITH (connector = 'console')
  AS SELECT ended_at, rule, address, events, reason FROM alerts;
