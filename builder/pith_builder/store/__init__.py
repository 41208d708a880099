"""Where records live: a SQLite file in the home folder, or a PostgreSQL database."""

from pith_builder.store.store import Outcome, Store, StoredRecord, Withdrawal

__all__ = ["Outcome", "Store", "StoredRecord", "Withdrawal"]
