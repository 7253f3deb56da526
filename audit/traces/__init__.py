"""Evidence over recorded contexts, each seen once: how it is scored, bet on, bounded and kept."""
