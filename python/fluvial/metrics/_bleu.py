"""BLEU, computed with ops, so that it works inside programs."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._metric import Metric, ratio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor


class BLEU(Metric):
    """BLEU (Papineni et al., 2002) of a corpus: how many n-grams of candidates are in references, without repetitions
    beyond theirs, times a penalty for candidates that are short.

    Args:
        n_gram: The longest n-grams.
        smooth: Whether one is added to the counts of n-grams longer than one word (Lin and Och, 2004).
        pad: The token that fills tensors up; it does not count.

    Example:
        >>> bleu = fl.metrics.BLEU(n_gram=2)
        >>> bleu.update([["the", "cat", "sat"]], [[["the", "cat", "sat", "down"]]])
        >>> round(bleu.compute().item(), 4)
        0.7165
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False, pad: int = 0, name: str | None = None) -> None:
        super().__init__(name)
        self.n_gram, self.smooth, self.pad = n_gram, smooth, pad
        self.count("matches", (n_gram,))
        self.count("grams", (n_gram,))
        self.count("length")
        self.count("reference_length")

    def update(self, candidates: Any, references: Any) -> None:
        """Takes a batch in.

        Args:
            candidates: Tokens as a tensor [batch, length], filled up with `pad`; or a list of lists of words.
            references: Tokens as a tensor [batch, length] or [batch, references, length]; or for each candidate a
                list of references, each a list of words.
        """
        if not isinstance(candidates, _core.Tensor):
            candidates, references = _numbered(candidates, references, self.pad)
        if references.ndim == 2:
            references = _core.unsqueeze(references, 1)
        there, those = candidates != self.pad, references != self.pad
        length = _core.sum(_core.cast(there, "float64"), -1)
        lengths = _core.sum(_core.cast(those, "float64"), -1)
        # The reference whose length is nearest counts, the shorter of two; one that is empty is none.
        away = _core.abs(lengths - _core.unsqueeze(length, -1)) * 1e6 + lengths
        away = _core.where(lengths > 0, away, _core.full_like(away, float("inf")))
        nearest = _core.take_along_axis(lengths, _core.argmin(away, -1, True), -1)
        self.add("length", _core.sum(length))
        self.add("reference_length", _core.sum(nearest))
        of_own = _equal(candidates, there, candidates, there)
        of_theirs = _equal(_core.unsqueeze(candidates, 1), _core.unsqueeze(there, 1), references, those)
        matches, grams = [], []
        own, theirs, begins = of_own, of_theirs, there
        for n in range(self.n_gram):
            if n:
                own, theirs, begins = _shifted(of_own, own, n), _shifted(of_theirs, theirs, n), _begins(there, begins, n)
            times = _core.sum(_core.cast(own, "float64"), -1)
            found = _core.max(_core.sum(_core.cast(theirs, "float64"), -1), 1)
            share = ratio(_core.minimum(times, found), times)
            matches.append(_core.sum(_core.where(begins, share, _core.zeros_like(share))))
            grams.append(_core.sum(_core.cast(begins, "float64")))
        self.add("matches", _core.stack(matches, 0))
        self.add("grams", _core.stack(grams, 0))

    def compute(self) -> Tensor:
        """The score, from 0 to 1."""
        matches, grams = self.matches.detach(), self.grams.detach()
        if self.smooth:
            longer = _core.cast(_core.arange(0, self.n_gram, 1, "int64") > 0, "float64")
            matches, grams = matches + longer, grams + longer
        shares = ratio(matches, grams)
        some = _core.all(shares > 0)
        logs = _core.log(_core.where(some, shares, _core.ones_like(shares)))
        shorter = _core.minimum(1.0 - ratio(self.reference_length, self.length, float("inf")), 0.0)
        score = _core.exp(_core.mean(logs) + shorter)
        return _core.where(some, score, _core.zeros_like(score))


def _equal(a: Tensor, a_there: Tensor, b: Tensor, b_there: Tensor) -> Tensor:
    """Which words of `a`, by rows, are which of `b`, by columns."""
    same = _core.unsqueeze(a, -1) == _core.unsqueeze(b, -2)
    both = _core.logical_and(_core.unsqueeze(a_there, -1), _core.unsqueeze(b_there, -2))
    return _core.logical_and(same, both)


def _shifted(words: Tensor, grams: Tensor, n: int) -> Tensor:
    """Which n-grams, one word longer, are equal."""
    rows, columns = words.shape[-2], words.shape[-1]
    if n >= min(rows, columns):
        return _core.zeros_like(grams)
    later = _core.narrow(_core.narrow(words, -2, n, rows - n), -1, n, columns - n)
    later = _core.pad(_core.cast(later, "int32"), [0, 0], [n, n])
    return _core.logical_and(grams, later > 0)


def _begins(there: Tensor, begins: Tensor, n: int) -> Tensor:
    """Where n-grams, one word longer, begin."""
    size = there.shape[-1]
    if n >= size:
        return _core.zeros_like(begins)
    later = _core.pad(_core.cast(_core.narrow(there, -1, n, size - n), "int32"), [0], [n])
    return _core.logical_and(begins, later > 0)


def _numbered(candidates: Any, references: Any, pad: int) -> tuple[Tensor, Tensor]:
    """Words as tensors of numbers."""
    known: dict[Any, int] = {}

    def number(word: Any) -> int:
        found = known.setdefault(word, len(known))
        return found if found < pad else found + 1

    if len(candidates) != len(references):
        raise fault(ValueError, f"{len(references)} lists of references for {len(candidates)} candidates")
    for of_one in references:
        if not of_one or isinstance(of_one, str) or isinstance(of_one[0], str):
            raise fault(
                ValueError, "for each candidate there is a list of references, each a list of words", "wrap it in a list"
            )
    longest = max(1, *(len(words) for words in candidates))
    rows = [[number(word) for word in words] for words in candidates]
    table = [row + [pad] * (longest - len(row)) for row in rows]
    most = max(len(of_one) for of_one in references)
    widest = max(1, *(len(words) for of_one in references for words in of_one))
    others = []
    for of_one in references:
        filled = [[number(word) for word in words] for words in of_one] + [[]] * (most - len(of_one))
        others.append([row + [pad] * (widest - len(row)) for row in filled])
    return _core.tensor(table, "int64"), _core.tensor(others, "int64")
