"""The assistant itself. It runs headless; faces live in `ui`, neural models in `models`."""
