"""Turns a record into what people and machines read."""
