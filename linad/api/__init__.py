"""What users call: derivatives, gradients, a user's own primitives, looking at programs."""
