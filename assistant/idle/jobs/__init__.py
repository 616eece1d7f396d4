"""The kinds of idle work. A new one that uses the language model starts from `model_job.py`."""
