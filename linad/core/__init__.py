"""The ground: shapes, containers, settings; primitives, equations and tapes."""
