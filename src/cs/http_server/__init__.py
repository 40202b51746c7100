"""Ports: bound, served within limits, and left without losing a call."""
