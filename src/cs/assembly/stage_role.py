"""``cs stage NAME``: works for one stage, from its topic to ``cs.outcomes``."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from cs.admin.health import Readiness
from cs.assembly.databases import (
    keep_time,
    open_shared_time,
    open_stages_pool,
    read_key,
    shared_budgets,
    shared_calls,
)
from cs.assembly.people_directory import kept_directory
from cs.assembly.plugins import build_stage, open_plugins, unusable_settings
from cs.assembly.process import RunningRole, check_world, measured_process, open_traces
from cs.assembly.shared_settings import insecure_role, kafka_settings
from cs.assembly.upkeep import measure_files
from cs.bus.kafka.bus import KafkaBus
from cs.bus.measured import MeasuredBus
from cs.directory.postgres import PostgresDirectory
from cs.domain.service import World
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import StageName
from cs.metrics.metrics import Metrics
from cs.paid_calls.register import PaidCalls, forget_expired_calls
from cs.pipeline.runner import Runner
from cs.postgres.clock import DatabaseTime
from cs.postgres.processes import ProcessReport
from cs.runtime.coordination import in_background
from cs.settings import Settings


@asynccontextmanager
async def run_stage(
    settings: Settings, world: World, name: StageName
) -> AsyncIterator[RunningRole]:
    """Work for the stage *name*; opens neither the event log nor the master key.

    Raises:
        BadSettings: One is missing or wrong, or only a sandbox may have it.
        WrongSchema: The stages' database is not of this version.
        DatabaseUnavailable: It cannot be reached.
    """
    check_world(settings, world)
    role = f"stage {name}"
    async with AsyncExitStack() as stack:
        metrics = Metrics(await stack.enter_async_context(open_traces(settings, role)))
        pool = await stack.enter_async_context(open_stages_pool(settings, role, world))
        time = DatabaseTime(pool)
        await time.ask()
        shared_time = await open_shared_time(time, world, pool)
        stages_key = read_key(settings.stages_key_file, "stages_key_file")
        calls = shared_calls(pool, stages_key)
        await calls.check_key()
        await stack.enter_async_context(forget_expired_calls(calls))
        directory = PostgresDirectory(pool, stages_key)
        if name == "contact-discovery":
            await stack.enter_async_context(
                kept_directory(directory, settings, shared_time.clock)
            )
        budgets = shared_budgets(pool, settings)
        measure_files(metrics, settings)
        plugins = await stack.enter_async_context(
            open_plugins(
                settings,
                shared_time.clock,
                PaidCalls(calls, metrics=metrics),
                budgets=budgets,
                directory=directory,
                world=world,
                metrics=metrics,
            )
        )
        bus = await stack.enter_async_context(KafkaBus(kafka_settings(settings, world)))
        unusable = unusable_settings(plugins)
        misconfiguration = plugins.misconfiguration
        misconfiguration.begin(
            {setting: unusable[setting] for setting in STAGES[name].asks if setting in unusable}
        )
        runner = Runner(
            build_stage(name, plugins),
            MeasuredBus(bus, metrics),
            shared_time.clock,
            metrics=metrics,
        )
        await stack.enter_async_context(measured_process(metrics, role, world))
        insecure = insecure_role(settings, world)
        report = ProcessReport(pool, role)
        await stack.enter_async_context(in_background(report.run(), "process-report"))
        async with keep_time(shared_time, runner.run()):
            ready = Readiness(
                time=time,
                bus=bus.measure,
                misconfiguration=misconfiguration,
                insecure=insecure,
                budgets=budgets,
                metrics=metrics,
            )
            report.begin(ready.check)
            yield RunningRole(ready)
