"""A client's login made of the words of the command line, a password asked for where needed."""

from __future__ import annotations

import time
from dataclasses import replace

from tuiperf.cli.values import UsageError
from tuiperf.engine.errors import EngineError
from tuiperf.engine.spec import ClientSpec
from tuiperf.login import LoginSettings, ask_password, make_token


def logged_in(spec: ClientSpec, settings: LoginSettings) -> ClientSpec:
    """The spec with a fresh token, where a login is asked for. Raises UsageError."""
    if not settings.of_client:
        return spec
    try:
        token = make_token(settings, ask_password(), time.time())
    except EngineError as error:
        raise UsageError(error.code, str(error)) from None
    return replace(spec, auth_token=token)
