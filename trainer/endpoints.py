"""Endpoints: the served models that a recipe names, made from its settings.

One place knows what a section of the recipe means to a client; who is asked what is not known here.
"""

from __future__ import annotations

from trainer.judges.model import ModelJudge
from trainer.judges.seam import Judge
from trainer.recipe import JudgeConfig, ServiceConfig
from trainer.users.endpoint import EndpointModel
from trainer.users.spending import Meter, Spent


def make_meter(endpoint: ServiceConfig, *, before: Spent | None = None) -> Meter:
    """Return the meter of an endpoint, by the prices and limits of the recipe.

    Args:
        endpoint: The endpoint's settings.
        before: What earlier processes of the run spent there.
    """
    return Meter(endpoint.price, endpoint.limit, before=before)


def endpoint_model(endpoint: ServiceConfig, meter: Meter) -> EndpointModel:
    """Return the model behind an endpoint.

    Args:
        endpoint: Its settings.
        meter: Counts what it is asked.

    Raises:
        ValueError: if a setting cannot be used, or the key's variable is not set.
    """
    return EndpointModel(
        endpoint.base_url,
        endpoint.model,
        key_env=endpoint.key_env,
        deadline_s=endpoint.deadline_s,
        retries=endpoint.retries,
        concurrency=endpoint.concurrency,
        meter=meter,
    )


def make_judge(settings: JudgeConfig, *, meter: Meter | None = None) -> Judge | None:
    """Return who decides what worlds leave to a judge; None where their rules decide all.

    Args:
        settings: The recipe's section `judge`.
        meter: Counts what the judge's endpoint is asked; None for one of its own.

    Raises:
        ValueError: if a setting cannot be used, or the key's variable is not set.
    """
    if settings.kind != "endpoint":
        return None
    endpoint = settings.endpoint
    counted = meter or make_meter(endpoint)
    return ModelJudge(
        endpoint_model(endpoint, counted),
        endpoint.model,
        counted,
        max_tokens=endpoint.max_tokens,
        retries=endpoint.retries,
        deadline_s=endpoint.deadline_s,
    )
