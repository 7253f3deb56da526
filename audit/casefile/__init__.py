"""Case files: TOML in, cases out, and every problem of a file in one sentence each."""
