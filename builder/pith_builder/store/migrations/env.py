"""Alembic's entry: runs the migrations over the connection that `pith_builder.store.database` hands in."""

from alembic import context

from pith_builder.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
