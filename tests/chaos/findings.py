"""What a check found to be wrong: lists by kind, which should all be empty."""

from __future__ import annotations


class Findings:
    """The base of dataclasses whose fields are lists of what is wrong, in words."""

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {name: len(found) for name, found in vars(self).items()}

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not any(self.counts.values())

    def report(self) -> str:
        """All of it, the first few of each."""
        lines = [", ".join(f"{name.replace('_', ' ')} {n}" for name, n in self.counts.items())]
        for name, found in vars(self).items():
            lines += [f"  {name.replace('_', ' ')}: {each}" for each in found[:10]]
        return "\n".join(lines)
