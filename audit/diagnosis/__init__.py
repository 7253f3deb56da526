"""After a FAIL: which catalogued fault the counts are consistent with, and where they depart."""
