"""What is run from a checkout: measurements (bench), evaluations (eval) and training (train)."""
