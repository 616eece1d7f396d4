"""The long-term memory: recalling, storing and loading, beside other stores."""
