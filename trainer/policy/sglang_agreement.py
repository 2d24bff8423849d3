"""Whether a server speaks for the very weights that the learner has, right after a sync.

Three questions, from cheap to telling: does it stamp its tokens with the new version, did the
weights in its memory move when the learner's did, and do both give the same tokens the same
log-probabilities? A prompt that was read under older weights is asked again, so that a cache
that survived the sync is seen.

Dimensions: T tokens of a dialogue, S sampled ones at its end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import torch
from transformers import PreTrainedModel

from trainer.policy.lora import plain_weights
from trainer.policy.sampler import SamplerFault


class Bound(NamedTuple):
    """Largest absolute differences of log-probabilities that are rounding, in nats."""

    mean: float
    most: float


BOUNDS: Mapping[torch.dtype, Bound] = {
    torch.float32: Bound(mean=1e-5, most=1e-4),
    torch.bfloat16: Bound(mean=0.09, most=0.5),
    torch.float16: Bound(mean=0.03, most=0.2),
}
"""By the coarser type of the learner's and the served weights. Measured in float32:
1e-6 at most; in bfloat16: 0.030 on average and 0.16 at most, of which these are three times. What
float16 does was not measured."""


_TYPES: Mapping[object, torch.dtype] = {
    "float32": torch.float32,
    "float": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "half": torch.float16,
}
_DIGEST_ELEMENTS = 1 << 16
"""Elements of each tensor that a digest reads, spread evenly."""


class SamplerDisagrees(SamplerFault):
    """A server does not sample from the learner's policy."""


class Agreement(NamedTuple):
    """How far a server's log-probabilities were from the learner's."""

    mean: float
    most: float
    num_tokens: int


def bound_of(
    model: PreTrainedModel, served: object, *, mean: float | None, most: float | None
) -> Bound:
    """Return the bound between a model and a server: as stated, else that of the coarser type.

    Args:
        model: The learner's model.
        served: What the server says of its type, such as `bfloat16`; `auto` is SGLang's own
            choice, which is float16 for weights in float32.
        mean: The stated bound of the mean, if there is one.
        most: The stated bound of a single difference, if there is one.
    """
    automatic = torch.float16 if model.dtype == torch.float32 else model.dtype
    theirs = automatic if served == "auto" else _TYPES.get(served, model.dtype)
    found = [BOUNDS[each] for each in (model.dtype, theirs) if each in BOUNDS]
    usual = max(found, default=BOUNDS[torch.float32])
    return Bound(usual.mean if mean is None else mean, usual.most if most is None else most)


@torch.no_grad()
def learner_logprobs(
    model: PreTrainedModel, prompt: Sequence[int], answer: Sequence[int], *, temperature: float
) -> torch.Tensor:
    """Return the log-probability [S] of each token of an answer, read without any cache.

    Args:
        model: The learner's model.
        prompt: What stands before the answer.
        answer: The tokens, at least one.
        temperature: Divides the logits, as it does when they are sampled.
    """
    was_training = model.training
    model.eval()
    ids_1T = torch.tensor([[*prompt, *answer]], device=model.device)
    # The last logits follow the whole dialogue, and nobody asks for them.
    kept = len(answer) + 1
    logits_SV = cast("Any", model)(input_ids=ids_1T, logits_to_keep=kept).logits[0, :-1]
    model.train(was_training)
    logprobs_SV = torch.log_softmax(logits_SV.float() / temperature, -1)
    tokens_S1 = torch.tensor(answer, device=model.device)[:, None]
    return logprobs_SV.gather(-1, tokens_S1)[:, 0].cpu()


def compare(learner: Sequence[torch.Tensor], sampler: Sequence[Sequence[float]]) -> Agreement:
    """Return how far two sides are apart over all tokens of some answers."""
    differences = [
        (ours - torch.tensor(theirs)).abs() for ours, theirs in zip(learner, sampler, strict=True)
    ]
    every = torch.cat(differences)
    return Agreement(float(every.mean()), float(every.max()), every.numel())


def judge(found: Agreement, bound: Bound, *, url: str, stamp: str) -> None:
    """Refuse a server whose log-probabilities are not the learner's.

    Args:
        found: What was measured.
        bound: What is rounding.
        url: Whose tokens they are.
        stamp: Under which weight version.

    Raises:
        SamplerDisagrees: naming both numbers and what to look at.
    """
    if found.mean <= bound.mean and found.most <= bound.most:
        return
    raise SamplerDisagrees(
        f"{url}, weight version {stamp}: log-probabilities differ from the learner's by "
        f"{found.mean:.3g} on average and {found.most:.3g} at most, over {found.num_tokens} "
        f"tokens; {bound.mean:g} and {bound.most:g} are allowed. Its weights or its cache are old, "
        "or it computes in another type: serve the learner's type, or state a measured bound in "
        "sampler.agreement"
    )


def coarse_digest(model: PreTrainedModel) -> str:
    """Return a digest of a sample of the weights, as the coarsest type that is served holds them.

    Where it changes, the weights of a server must change too, whatever type it serves.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, parameter in plain_weights(model):
        digest.update(name.encode())
        whole = parameter.reshape(-1)
        flat = whole[:: 1 + whole.numel() // _DIGEST_ELEMENTS].to("cpu", torch.bfloat16)
        digest.update(flat.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
