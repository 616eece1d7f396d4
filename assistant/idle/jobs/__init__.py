"""The kinds of idle work. A new one that asks the language model begins with `model_job.py`."""
