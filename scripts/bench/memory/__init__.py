"""Measures recalling, storing and loading of the long-term memory, compared with other stores."""
