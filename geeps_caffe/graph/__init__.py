"""Which layers there are and how they are connected: a net as a value."""
