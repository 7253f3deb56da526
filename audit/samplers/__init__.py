"""What is audited: the contract, our own rules and faults, and adapters to real code."""
