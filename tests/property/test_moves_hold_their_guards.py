"""The guard that the plan lists for a move is true, as CEL, whenever the engine makes the move."""

from __future__ import annotations

import json
import os
from typing import Any

from cel_expr_python import cel
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dagflow.core.plan import Plan
from dagflow.core.run import Run, StepChanged, StepRecord
from dagflow.executor.machine.activation import step_view
from tests.property.driving import Driver, compiled
from tests.property.flows import flows, to_yaml
from tests.property.reference import Flow

FULL = os.environ.get("DAGFLOW_FULL") == "1"
