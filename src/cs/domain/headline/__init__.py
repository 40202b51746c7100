"""What a headline says: title, company, family and level of a role."""
