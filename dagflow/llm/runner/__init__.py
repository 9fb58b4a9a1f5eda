"""The runner: what the engine asks of the hardware, in torch."""
