"""The stages, each made with what it asks the outside world with."""

from collections.abc import Sequence
from typing import assert_never

from cs.assembly.plugins import StagePlugins
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import StageName
from cs.pipeline.brand_resolution import BrandResolution
from cs.pipeline.brand_resolver import BrandResolver
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.pipeline.ranking import Ranking
from cs.pipeline.verification import Verification
from cs.pipeline.waterfall import PaidQuestions
from cs.plugins.stages import Stage


def build_stage(name: StageName, plugins: StagePlugins) -> Stage:
    """Return the stage called *name*: a plug-in, or ours, which asks with *plugins*."""
    for plugin in plugins.stages:
        if plugin.name == name:
            return plugin
    match name:
        case "brand-resolution":
            return BrandResolution(
                BrandResolver(plugins.brand_sources), plugins.misconfiguration
            )
        case "contact-discovery":
            return ContactDiscovery(
                plugins.people_sources,
                plugins.misconfiguration,
                plugins.enough_people,
                plugins.source_order,
            )
        case "ranking":
            return Ranking(second_opinion=plugins.second_opinion)
        case "verification":
            questions = PaidQuestions(plugins.paid_caps)
            return Verification(
                plugins.verifiers, plugins.misconfiguration, questions, plugins.verifier_order
            )
        case _:
            assert_never(name)


def build_stages(plugins: StagePlugins) -> Sequence[Stage]:
    """Return every stage, in the order of a lookup."""
    return tuple(build_stage(name, plugins) for name in STAGES)
