CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE records (
	id INTEGER NOT NULL, 
	canonical_sha256 BLOB NOT NULL, 
	suffix VARCHAR(26) NOT NULL, 
	arxiv_id VARCHAR NOT NULL, 
	version INTEGER NOT NULL, 
	base_url VARCHAR NOT NULL, 
	created_at VARCHAR NOT NULL, 
	said_at VARCHAR, 
	recorded_at VARCHAR NOT NULL, 
	canonical BLOB NOT NULL, 
	provenance BLOB NOT NULL, 
	withdrawn BLOB, 
	paper BLOB NOT NULL, 
	snapshot BLOB NOT NULL, 
	surroundings BLOB NOT NULL, 
	enrichment BLOB, 
	layout BLOB, 
	PRIMARY KEY (id), 
	UNIQUE (canonical_sha256), 
	UNIQUE (suffix)
);
CREATE INDEX records_by_paper ON records (arxiv_id, version);
CREATE TABLE current (
	record_id INTEGER NOT NULL, 
	receipt_id INTEGER NOT NULL, 
	updated_at VARCHAR NOT NULL, 
	key_fingerprint VARCHAR(32) NOT NULL, 
	receipt_builder VARCHAR NOT NULL, 
	PRIMARY KEY (record_id), 
	FOREIGN KEY(record_id) REFERENCES records (id)
);
CREATE INDEX current_by_key ON current (key_fingerprint, receipt_builder);
CREATE TABLE receipts (
	id INTEGER NOT NULL, 
	record_id INTEGER NOT NULL, 
	receipt BLOB NOT NULL, 
	recorded_at VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(record_id) REFERENCES records (id)
);
CREATE INDEX ix_receipts_record_id ON receipts (record_id);
CREATE TABLE checks (
	id INTEGER NOT NULL, 
	checked_at VARCHAR NOT NULL, 
	last_receipt_id INTEGER NOT NULL, 
	records INTEGER NOT NULL, 
	failed INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE earlier_blocks (
	id INTEGER NOT NULL, 
	record_id INTEGER NOT NULL, 
	paper BLOB NOT NULL, 
	snapshot BLOB NOT NULL, 
	surroundings BLOB NOT NULL, 
	enrichment BLOB, 
	provenance BLOB NOT NULL, 
	updated_at VARCHAR NOT NULL, 
	replaced_at VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(record_id) REFERENCES records (id)
);
CREATE INDEX ix_earlier_blocks_record_id ON earlier_blocks (record_id);
CREATE TRIGGER receipts_no_update BEFORE UPDATE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts is append-only'); END;
CREATE TRIGGER receipts_no_delete BEFORE DELETE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts is append-only'); END;
CREATE TRIGGER earlier_blocks_no_update BEFORE UPDATE ON earlier_blocks BEGIN SELECT RAISE(ABORT, 'earlier_blocks is append-only'); END;
CREATE TRIGGER earlier_blocks_no_delete BEFORE DELETE ON earlier_blocks BEGIN SELECT RAISE(ABORT, 'earlier_blocks is append-only'); END;
