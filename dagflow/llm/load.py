"""Puts an engine together from a model file. This is where torch comes in."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from dagflow.llm.engine.engine import Engine, Language
from dagflow.llm.engine.scheduler import Scheduler
from dagflow.llm.models.weights import Loaded, Precision, load_model
from dagflow.llm.runner.grammar import Grammars
from dagflow.llm.runner.single import SingleRunner
from dagflow.llm.template import ChatTemplate


def load_engine(
    path: Path, cache: Path, *, precision: Precision = "auto", threads: int = 0, queue: int = 64
) -> Engine:
    """Return an engine for the GGUF file at `path`; `threads` 0 takes the processors we may use."""
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    return engine_of(load_model(path, cache, precision), queue=queue)


def engine_of(model: Loaded, *, queue: int = 64) -> Engine:
    """Return an engine for a model in memory."""
    language = language_of(model)
    return Engine(language, SingleRunner(model.network), Scheduler(limit=queue))


def language_of(model: Loaded) -> Language:
    """Return what the engine must know of a model's language."""
    config, tokenizer = model.config, model.tokenizer
    grammars = Grammars(tokenizer, config.vocabulary, config.eos)
    return Language(
        context=config.context,
        ends=frozenset(config.eos),
        prompts=ChatTemplate(config.chat_template, tokenizer, config.bos, config.eos),
        token_bytes=tokenizer.token_bytes,
        constrain=grammars.compile,
    )
