"""From the counts of one case to its verdict: what it is compared with, and what is proven."""
