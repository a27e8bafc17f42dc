-- Lines of text come over a TCP socket; how often each word has come so far is kept current.

CREATE STREAM lines (line STRING NOT NULL)
  WITH (connector = 'socket', port = ${PORT:-9999});

CREATE VIEW words AS
  SELECT lower(word) AS word
  FROM lines LATERAL VIEW explode(split(line, '[^A-Za-z]+')) AS word
  WHERE word <> '';

-- No window, so a word's row changes each time the word comes: the old row is withdrawn, a new one published.
CREATE VIEW counts AS
  SELECT word, count(*) AS n FROM words GROUP BY word;

SELECT word, n FROM counts;
