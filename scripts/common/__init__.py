"""What measurements, evaluations and training share; imports none of them."""
