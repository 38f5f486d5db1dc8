-- 1: `body` is one LZ4 block behind its length, four bytes, little endian; 0: as it was received.
ALTER TABLE delivery ADD COLUMN packed INTEGER NOT NULL DEFAULT 0 CHECK (packed IN (0, 1));
