"""A function for the examples of docs/language.md."""

from math import asin, cos, radians, sin, sqrt

EARTH_KM = 6371.0


def haversine(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Return the great-circle distance of two places on earth, in kilometres."""
    a, b = radians(lat1), radians(lat2)
    half = sin((b - a) / 2) ** 2 + cos(a) * cos(b) * sin(radians(lon2 - lon1) / 2) ** 2
    return 2 * EARTH_KM * asin(sqrt(half))
