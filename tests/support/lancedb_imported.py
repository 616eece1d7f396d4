"""Imports LanceDB as the assistant does; `import lancedb` would import its web client too, and take
twice the time."""

from assistant.memory.store.open_table import import_lancedb

import_lancedb()
