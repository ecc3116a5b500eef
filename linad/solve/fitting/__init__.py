"""The everyday fit: models and data in, parameters with their uncertainties out."""
