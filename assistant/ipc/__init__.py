"""How other processes of the same user reach a running assistant."""
