"""Tables that several hosts share: each host's agent owns a block of every table."""
