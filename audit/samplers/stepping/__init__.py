"""Samplers that draft for themselves: handed two models, they propose and verify one round."""
