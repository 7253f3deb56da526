"""Reading what an engine recorded: rounds of speculative decoding, checked one by one."""
