"""Names that come from outside and mean harm."""

#: As a brand may be named by a caller, a web page or a stage of another make.
HOSTILE_NAMES = (
    "jane@exämple..de",
    "a\0b",
    "\u202eevil\u2066",
    "\x9b31m",
    "<script>alert(1)</script>",
    "!!g :de <1 ?x",
    "=cmd()",
    "x" * 120,
    " ",
)
