"""Profiles and deltas by chance, from few keys and words, so that they meet."""

from __future__ import annotations

from random import Random

from loom.profile import FactOp, Preferences, ProfileDelta, Traits, UserProfile
from loom.profile.model import FORMATS, OPS, TRAITS

KEYS = ("name", "role", "tech_stack", "a", "A", "é", "e\u0301", "ключ", "k'\"\\", " ")
VALUES = ("", "", "x", "y", "Ünï", "a\nb", "'; --", "👩‍👩‍👧", "0", "null")
TOPICS = ("", "sql", "go", "SQL", "рыба", "sql ")
SOURCES = ("", "rules", "llm", "rules,llm")


def delta(random: Random) -> ProfileDelta:
    """What one look at signals may tell; often nothing of a kind."""
    ops = [
        FactOp(random.choice(OPS), random.choice(KEYS), random.choice(VALUES))
        for _ in range(random.choice((0, 0, 1, 2, 3, 8)))
    ]
    return ProfileDelta(
        fact_ops=ops,
        traits={
            name: random.choice(("", *words))
            for name, words in TRAITS.items()
            if random.random() < 0.3
        },
        preferences={
            name: random.choice(("", *words))
            for name, words in (("format", FORMATS), ("language", ("en", "ru", "pt-BR")))
            if random.random() < 0.3
        },
        topics=(None if random.random() < 0.6 else random.choices(TOPICS, k=random.randrange(4))),
        summary=random.choice(("", "", "One.", "Two.\nThree.")),
        source=random.choice(SOURCES),
    )


def profile(random: Random) -> UserProfile:
    """Some profile."""
    keys = random.sample(KEYS, k=random.randrange(len(KEYS)))
    return UserProfile(
        "u1",
        traits=Traits(*(random.choice(("", *words)) for words in TRAITS.values())),
        preferences=Preferences(
            random.choice(("", *FORMATS)),
            random.choice(("", "en", "de")),
            random.sample(TOPICS[1:], k=random.randrange(4)),
        ),
        facts={key: random.choice(VALUES[2:]) for key in keys},
        summary=random.choice(("", "Before.")),
        version=random.randrange(5),
        source=random.choice(SOURCES),
    )
