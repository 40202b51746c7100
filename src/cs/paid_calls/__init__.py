"""Calls that cost money: written down before they are made, so that none is paid for twice."""
