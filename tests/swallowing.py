"""What a package may do: try the quick way of plain numbers, and another one if it fails."""


def attempt(quick, otherwise, errors=Exception):
    try:
        return quick()
    except errors:
        return otherwise()
