"""The audit audited: the tool's own tests, run many times on samplers whose law is known."""
