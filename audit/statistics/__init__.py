"""The tests: one statistic a file, numbers in, a result out, no opinion."""
