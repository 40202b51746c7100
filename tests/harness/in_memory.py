"""Stores in SQLite in memory, which a test that ends forgets."""

from cs.paid_calls.budgets import Budgets
from cs.paid_calls.register import CallRegister


def memory_calls() -> CallRegister:
    return CallRegister.in_file(None, lambda: b"k" * 32)


def memory_budgets() -> Budgets:
    return Budgets.in_file(None)
