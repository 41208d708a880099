"""Where records live: SQLite in the home folder."""

from pith_builder.store.store import Outcome, Store, StoredRecord, Withdrawal

__all__ = ["Outcome", "Store", "StoredRecord", "Withdrawal"]
