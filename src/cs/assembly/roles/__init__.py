"""The roles of a service that runs as several processes: one module a role.

======================  ===================  ==================================================
Command                 Module here          What the process does
======================  ===================  ==================================================
``cs api``              ``api``              answers calls
``cs relay``            ``relay``            publishes issued work, and the feed of events
``cs process-manager``  ``process_manager``  records what stages answer, and drives lookups
``cs project``          ``project``          keeps the views up to date
``cs stage NAME``       ``stage``            works for one stage
======================  ===================  ==================================================

Each module has one function, ``run_<module>``, an async context manager: it builds the role
from settings, runs it until left, and yields a `cs.assembly.roles.running.RunningRole`.  What
all roles but the stages open is in ``shared``.  A module imports what its role needs and no
other role, so that a process loads nothing that it does not run.

Any number of processes may run each role.  Some of their work is led by one process at a
time, which the others wait to take over (`cs.postgres.lease`).
"""
