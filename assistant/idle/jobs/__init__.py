"""One kind of idle work in each module."""
