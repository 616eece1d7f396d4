"""The LanceDB table of memories: writing, repair, sharing, encryption."""
