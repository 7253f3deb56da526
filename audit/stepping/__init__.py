"""The step level: a sampler that proposes and verifies, its claim first, then what it emits."""
