"""Random programs in NumPy, and what linad makes of them.

``python -m fuzz --seconds 60 --seed 1``, with ``tests`` on the path, goes on where the tests
stop: it writes programs (`fuzz.writer`), runs each as it is, differentiated and compiled
(`fuzz.checks`), and prints those that differ as scripts, made as small as they become
(`fuzz.smaller`). ``tox -e fuzz`` does the same on the installed wheel.
"""
