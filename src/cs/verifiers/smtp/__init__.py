"""The verifier that asks a domain's own mail servers, up to RCPT TO."""
