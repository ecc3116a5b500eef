"""Sums over shards of data that no one machine has to hold: `sum_of`, `normal_of`.

    F(w) = Σ_k f(w, *shard_k)

is one primitive, and its derivative is such a sum again: the pushforward of F at w is the sum of
the pushforwards of f at w, and so is the pullback. So one primitive and one operator give every
order and every mode. Only w, seeds and sums travel; shards and linearizations stay where they are.

What a process keeps is a cache and no state: a worker that is lost takes nothing with it that
another cannot compute again from its shard. Sums are added in a fixed tree, so their bits depend
neither on how many workers there are nor on which is faster.
"""
