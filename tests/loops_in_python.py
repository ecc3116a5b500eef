"""What loops of linad do, by Python: to compare with."""


def python_loop(start, stop, body, carry):
    """As `linad.fori_loop`."""
    for i in range(start, stop):
        carry = body(i, carry)
    return carry


def python_while(test, body, carry):
    """As `linad.while_loop`."""
    while test(carry):
        carry = body(carry)
    return carry
