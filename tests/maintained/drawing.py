"""A number goes in, so many random sequences come out, the same for the same seed."""

from hypothesis import HealthCheck, Phase, given, seed, settings

from maintained.sequences import Sequence_, sequences


def drawn(count: int, most: int, start: int) -> list[Sequence_]:
    """Return random sequences; the first that Hypothesis thinks of is the plainest, and left out."""
    found: list[Sequence_] = []

    @seed(start)
    @settings(
        max_examples=count + 1,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences(most))
    def draw(sequence: Sequence_) -> None:
        found.append(sequence)

    draw()
    return found[1:]
