"""The kinds of idle work. A new kind that uses the language model is built on `model_job.py`."""
