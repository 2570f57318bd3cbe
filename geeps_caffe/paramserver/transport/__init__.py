"""How messages and memory get from a worker to the owner of the tables and back."""
