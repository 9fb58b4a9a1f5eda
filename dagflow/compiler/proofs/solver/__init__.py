"""Guards as formulas for Z3: what an expression can be, asked of a solver. Z3's only home."""
