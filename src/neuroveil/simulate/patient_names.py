"""Common names of a few languages, for patient lists of people who do not exist.

They are drawn independently, given name and family name, with the skew that real names have: the
commonest few cover much of a population, and in Vietnam one family name covers a third.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Population = Literal["nordic", "vietnamese", "english"]


@dataclass(frozen=True)
class NameStock:
    """Names of a population, commonest first.

    Parameters
    ----------
    given, family : tuple of str
        Names.
    given_skew, family_skew : float
        Exponent of Zipf's law: the k-th commonest name has a share in proportion to k^-skew.
    syllables : tuple of str
        Out of which rarer family names are put together; empty where names are few.
    """

    given: tuple[str, ...]
    family: tuple[str, ...]
    given_skew: float
    family_skew: float
    syllables: tuple[str, ...] = ()

    def draw(self, rng: np.random.Generator, n: int) -> tuple[list[str], list[str]]:
        """Draw given and family names.

        Parameters
        ----------
        rng : numpy.random.Generator
            Seeded; these people do not exist.
        n : int
            How many.

        Returns
        -------
        tuple of list of str
            Given names, and family names.
        """
        given = _zipf(rng, self.given, self.given_skew, n)
        family = _zipf(rng, self.family, self.family_skew, n)
        if self.syllables:
            # Half of the people have one of very many rarer names, as in places with farm names.
            rare = rng.random(n) < 0.5
            parts = rng.choice(self.syllables, (n, 2))
            family = [
                (first + last).capitalize() if is_rare else name
                for name, is_rare, (first, last) in zip(family, rare, parts, strict=True)
            ]
        return given, family


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _zipf(rng: np.random.Generator, names: tuple[str, ...], skew: float, n: int) -> list[str]:
    weights = np.arange(1, len(names) + 1) ** -skew
    return [str(name) for name in rng.choice(names, n, p=weights / weights.sum())]


STOCKS: dict[Population, NameStock] = {
    "nordic": NameStock(
        given=_words(
            "Anna Lars Ingrid Erik Kari Ole Karin Jan Marit Per Liv Bjørn Anne Knut Eva Svein "
            "Berit Arne Åse Kjell Randi Odd Solveig Hans Astrid Nils Gerd Håkon Ragnhild Øyvind "
            "Turid Åke Sigrid Göran Kerstin Jürgen Märta Sören Frøydis Jørgen Anne-Marie "
            "Per-Olof Pirkko Timo Päivi Þóra Guðrún Jón Mette Jesper Søren Dorthe Nørgaard"
        ),
        family=_words(
            "Hansen Johansson Olsen Andersson Larsen Karlsson Nielsen Andersen Jensen Pedersen "
            "Nilsson Kristiansen Sørensen Rasmussen Eriksson Jørgensen Berg Haugen Hagen Dahl "
            "Lindström Møller Sjöberg Østby Ångström Korhonen Virtanen Mäkinen Nieminen Lundqvist "
            "Åkesson Björklund Bakken Strand Lie Moen Solberg Ødegård Næss Fjeld"
        ),
        given_skew=0.7, family_skew=0.8,
        syllables=_words(
            "berg dal haug land lund mo nes rud sand skog stad sund sø vik ås øde lind gran "
            "fjell hol bakk eng brek hol kvam lien myr rød stø tveit ulv"
        ),
    ),
    "vietnamese": NameStock(
        given=_words(
            "Anh Linh Hương Minh Hùng Lan Thảo Tuấn Dũng Hà Hoa Mai Nam Phương Quang Trang Thủy "
            "Vân Việt Long Hải Hạnh Đức Đạt Giang Khánh Ngọc Nhung Oanh Phúc Sơn Tâm Thắng Thúy "
            "Trung Tú Xuân Yến Bích Châu Cường Diệp"
        ),
        family=_words(
            "Nguyễn Trần Lê Phạm Hoàng Huỳnh Phan Vũ Võ Đặng Bùi Đỗ Hồ Ngô Dương Lý"
        ),
        given_skew=0.5, family_skew=1.0,
    ),
    "english": NameStock(
        given=_words(
            "James Mary John Patricia Robert Jennifer Michael Linda David Elizabeth William "
            "Barbara Richard Susan Joseph Jessica Thomas Sarah Charles Karen Christopher Lisa "
            "Daniel Nancy Matthew Betty Anthony Margaret Mark Sandra Donald Ashley Steven Emily "
            "Paul Donna Andrew Michelle Joshua Carol"
        ),
        family=_words(
            "Smith Jones Taylor Brown Williams Wilson Johnson Davies Robinson Wright Thompson "
            "Evans Walker White Roberts Green Hall Wood Jackson Clarke Harris Clark Lewis Young "
            "Martin Hill Cooper Ward Turner Carter O'Brien Murphy Kelly Campbell Stewart"
        ),
        given_skew=0.7, family_skew=0.8,
        syllables=_words(
            "ash black brad brook burn church cross dale field ford hamp har hart hill hol "
            "hurst lang ley low mar mere nor pem shaw stan ston sut thorn ton well west wick"
        ),
    ),
}  # fmt: skip
"""Names by population."""
