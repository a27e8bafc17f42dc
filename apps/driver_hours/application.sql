-- Pick-ups and drop-offs of taxis arrive as JSON lines in new files of a folder, up to 10 minutes out of order.

CREATE STREAM journeys (
  licence STRING NOT NULL,
  at TIMESTAMP,
  event STRING NOT NULL,
  WATERMARK FOR at AS at - INTERVAL 10 MINUTES
) WITH (connector = 'files', path = '${DATA:-data}/journeys');

-- A driver drives from a pick-up to the next drop-off. So the time driven is the sum of the drop-offs less that of the pick-ups.
-- Of two events at one instant the drop-off comes first: one passenger leaves, the next one enters.

-- What a driver did in the 12 hours from a pick-up on: one row, once they are over. Between two trips is a wait, or a rest of
-- 45 minutes or more, which is no working time.
CREATE MATERIALIZED VIEW shifts WITH (key = 'licence, began_at') AS
  SELECT licence, began_at, ended_at, trips, round(driven / 60000, 2) AS driving_minutes,
         round((present - rested) / 60000, 2) AS working_minutes, breaks, round(rested / 60000, 2) AS break_minutes
  FROM journeys MATCH_RECOGNIZE (
    PARTITION BY licence ORDER BY at, event
    MEASURES begin.at AS began_at, done.at AS ended_at, count(dropped.*) AS trips,
      sum(unix_millis(dropped.at)) - sum(unix_millis(picked.at)) AS driven,
      unix_millis(done.at) - unix_millis(begin.at) AS present,
      count(rest.*) AS breaks,
      coalesce(sum(unix_millis(resume.at)) - sum(unix_millis(rest.at)), 0) AS rested
    PATTERN (begin (wait go_on | rest resume)* done) WITHIN INTERVAL 12 HOURS
    SUBSET picked = (begin, go_on, resume), dropped = (wait, rest, done)
    DEFINE
      begin AS event = 'pick-up',
      wait AS event = 'drop-off',
      go_on AS event = 'pick-up' AND at < PREV(at) + INTERVAL 45 MINUTES,
      rest AS event = 'drop-off',
      resume AS event = 'pick-up' AND at >= PREV(at) + INTERVAL 45 MINUTES,
      done AS event = 'drop-off');

-- A passenger is on board for 4 and a half hours and not yet dropped off. The clock says so, no further event is needed.
CREATE VIEW break_due AS
  SELECT licence, picked_up_at AS since, picked_up_at + INTERVAL 270 MINUTES AS at, 270.0 AS driving_minutes, evidence
  FROM journeys MATCH_RECOGNIZE (
    PARTITION BY licence ORDER BY at, event
    MEASURES pick_up.at AS picked_up_at, TIMED_OUT() AS is_open, EVIDENCE(at) AS evidence
    PATTERN (pick_up drop_off) WITHIN INTERVAL 270 MINUTES ON TIMEOUT EMIT
    DEFINE pick_up AS event = 'pick-up', drop_off AS event = 'drop-off')
  WHERE is_open;

-- More than 4 and a half hours of driving without a break of 45 minutes or more, within 12 hours.
CREATE VIEW without_break AS
  SELECT licence, since, at, round(driven / 60000, 2) AS driving_minutes, evidence
  FROM journeys MATCH_RECOGNIZE (
    PARTITION BY licence ORDER BY at, event
    MEASURES begin.at AS since, late.at AS at,
      sum(unix_millis(dropped.at)) - sum(unix_millis(picked.at)) AS driven, EVIDENCE(at) AS evidence
    PATTERN (begin (wait go_on)*? late) WITHIN INTERVAL 12 HOURS
    SUBSET picked = (begin, go_on), dropped = (wait, late)
    DEFINE
      begin AS event = 'pick-up',
      wait AS event = 'drop-off',
      go_on AS event = 'pick-up' AND at < PREV(at) + INTERVAL 45 MINUTES,
      late AS event = 'drop-off'
        AND sum(unix_millis(dropped.at)) - sum(unix_millis(picked.at)) > 270 * 60000);

-- More than 9 hours of driving in the 12 hours before a drop-off, whatever the breaks. Of the first trip counts what lies in the
-- 12 hours; it may have begun up to 12 hours before them.
CREATE VIEW over_nine_hours AS
  SELECT licence, since, at, round(driven / 60000, 2) AS driving_minutes, evidence
  FROM journeys MATCH_RECOGNIZE (
    PARTITION BY licence ORDER BY at, event
    MEASURES begin.at AS since, late.at AS at,
      sum(unix_millis(dropped.at)) - sum(unix_millis(picked.at))
        - greatest(0, unix_millis(late.at) - 720 * 60000 - unix_millis(begin.at)) AS driven,
      EVIDENCE(at) AS evidence
    PATTERN (begin (stop go_on)*? late) WITHIN INTERVAL 24 HOURS
    SUBSET picked = (begin, go_on), dropped = (stop, late)
    DEFINE
      begin AS event = 'pick-up',
      stop AS event = 'drop-off' AND stop.at < FIRST(stop.at) + INTERVAL 12 HOURS,
      go_on AS event = 'pick-up',
      late AS event = 'drop-off' AND late.at < coalesce(FIRST(stop.at), late.at) + INTERVAL 12 HOURS
        AND sum(unix_millis(dropped.at)) - sum(unix_millis(picked.at))
          - greatest(0, unix_millis(late.at) - 720 * 60000 - unix_millis(begin.at)) > 540 * 60000);

CREATE VIEW found AS
  SELECT 'Break due' AS reason, licence, since, at, driving_minutes, evidence FROM break_due
  UNION ALL
  SELECT 'More than 4.5 hours without a break', licence, since, at, driving_minutes, evidence FROM without_break
  UNION ALL
  SELECT 'More than 9 hours in 12', licence, since, at, driving_minutes, evidence FROM over_nine_hours;

-- A driver has an alert of a reason at most once at a time, so the three name it: the same input gives the same alerts, in any run.
CREATE VIEW alerts AS
  SELECT concat('alert-', left(sha2(concat_ws(' ', reason, licence, unix_micros(at)), 256), 16)) AS alert_id,
         at, licence, reason, driving_minutes, since, evidence
  FROM found;

CREATE SINK alert_files WITH (connector = 'files', path = '${DATA:-data}/alerts')
  AS SELECT * FROM alerts;

CREATE SINK alerts_shown WITH (connector = 'console')
  AS SELECT at, licence, reason, driving_minutes, since FROM alerts;
