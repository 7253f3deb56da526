"""The exact engine: laws as rational numbers, rules, faults and their catalogue."""
