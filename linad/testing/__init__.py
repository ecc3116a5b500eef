"""Checks of derivatives: for a user's function, and for every rule of the registry."""

from linad.errors import DerivativeError as DerivativeError
from linad.testing.derivative_checks import check_derivatives as check_derivatives
from linad.testing.rule_checks import Case as Case, check_rule as check_rule
