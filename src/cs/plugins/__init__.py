"""The public interface for writing a source, a verifier or a stage in a package of its own.

=================================  ==========================================================
Module                             Import from it
=================================  ==========================================================
`cs.plugins.sources`               all that a brand or people source is written with
`cs.plugins.verifiers`             all that a verifier is written with
`cs.plugins.hosted`                the adapters of services that are asked over HTTP: a
                                   source or verifier as data and one pure function
`cs.plugins.stages`                all that a stage is written with
`cs.plugins.contracts`             the tests that each of them has to pass, and a stand-in for
                                   the outside service that it asks
=================================  ==========================================================

The other modules here find plug-ins, check their settings, report what they do wrong and write
new ones (`cs new`); they serve the service, and may change.  docs/extending.md begins one;
docs/sources.md and docs/verifiers.md have worked examples.
"""
