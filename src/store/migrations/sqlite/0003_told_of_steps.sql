-- What there is to tell of an artifact beside it: how its agent ended, and the errors and warnings that it had. Results from
-- before are made again.
ALTER TABLE step ADD COLUMN told TEXT CHECK (length(CAST(told AS BLOB)) <= 1048576);
