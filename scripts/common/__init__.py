"""Code shared by benchmarks, evaluations and training; imports none of these."""
