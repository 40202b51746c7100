"""Rules run again over what the log recorded: what another rule would have done.

`rules` says what rules are, `loading` where they come from: today's, a file's, another
version's, a plug-in's.  `recorded` reads of a brand what they need; `ranking`, `verdicts` and
`resolution` compare what a lookup came to with what it would come to, and `charges` what that
would have meant for searches.  `replaying` puts it together, some brands at a time.

Nothing is written to the log and nobody outside is asked.
"""
