"""Measures when turns end, on recordings and on turns spoken by a voice of this machine."""
