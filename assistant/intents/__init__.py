"""What is asked of the assistant itself: recogniser, arguments, confirmation."""
