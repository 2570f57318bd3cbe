"""What happens when: recordings and plans, as plain values without any array."""
