"""Results of the diagnosis of a vendor: `dcgmi diag -j`."""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


class DiagnosticResult(Part):
    """What one test of a diagnosis says of one GPU, or of the machine."""

    __slots__ = ()
    kind = "diagnostic_results"
    scope = "measurement"

    tool: Value[str]  # dcgm
    tool_version: Value[str]
    category: Value[str]  # Deployment, Integration, Hardware, Stress
    name: Value[str]  # memory, pcie, targeted_stress
    gpu_index: Value[int]  # absent for one of the machine
    result: Value[str]  # pass, warn, fail, skip, not_run
    message: Value[str]
    error_code: Value[int]


class DiagnosticResults(Parts[DiagnosticResult]):
    """All results of the diagnosis."""

    __slots__ = ()
    part = DiagnosticResult
    scope = "measurement"
