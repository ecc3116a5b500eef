"""Program transformations: linearize, push forward, record."""
