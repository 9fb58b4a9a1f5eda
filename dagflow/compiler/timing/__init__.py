"""Whether a run keeps its deadline: proofs from bounds, and verdicts from recorded latencies."""
