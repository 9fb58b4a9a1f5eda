"""The parts of `decide`: a pure state machine over a plan, a run, an event and an instant."""
