"""Names of rule sets and their versions, stored with what they decided.

The name of a set is raised by hand (``ranking-1``, ``ranking-2``) when its rules come to say
something else, so that a replay of the log can tell which rules said what.  What belongs to a
set, and a digest of it, is in ``tests/domain/test_rule_sets.py``: a change that forgets to
raise the name is red there (docs/extending.md).

What was stored before names were recorded, or by a stage or verifier of another make that has
none, has ``None``: not recorded.
"""

#: Choice and order of the people shown: `cs.domain.ranking`.
RANKING = "ranking-12"
#: Meaning of mail servers' replies: `cs.domain.mail.reply_meaning`, and the
#: questions that `cs.verifiers.smtp` asks.
MAIL_REPLIES = "mail-replies-3"
#: Which addresses of a person are tried, and what counts of what was found about them.
VERIFICATION = "verification-4"
#: Which brand is meant, by the answers of the sources: `cs.pipeline.brand_choice`.
RESOLUTION = "resolution-6"

#: How a set that was not recorded is named to people.
NOT_RECORDED = "not recorded"
