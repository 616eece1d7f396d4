"""Programs to run from a checkout: measurements (bench), evaluations (eval), training (train)."""
