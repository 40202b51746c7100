"""A second opinion on headlines that the rules are unsure of: an operator's own model."""
