"""Imports LanceDB as the assistant does, which takes a third of the time."""

from assistant.memory.store.lance_import import import_lancedb

import_lancedb()
