"""Long output is shown in a pager on a terminal only."""

import os
import pty
import subprocess
import sys


def on_a_terminal(*arguments, **variables) -> str:
    reading, writing = pty.openpty()
    command = [sys.executable, "-m", "repro", *arguments]
    environment = {**os.environ, "COLUMNS": "90", **variables}
    child = subprocess.Popen(command, stdin=writing, stdout=writing, stderr=writing, env=environment)
    os.close(writing)
    text = b""
    try:
        while part := os.read(reading, 2**16):
            text += part
    except OSError:
        pass
    os.close(reading)
    assert child.wait() == 0
    return text.decode().replace("\r\n", "\n")


def test_what_is_read_goes_through_the_pager_and_prose_comes_after_it(folders):
    lines = on_a_terminal("show", "cells", "costa", PAGER="sed s/^/|/", NO_COLOR="1").splitlines()
    assert len(lines) > 150 and all(line.startswith("|") for line in lines)
    *table, prose = on_a_terminal("audit", "claims", "--scale", "tiny", REPRO_PAGER="sed s/^/|/").splitlines()
    assert all(line.startswith("|") for line in table) and not prose.startswith("|")


def test_without_a_pager_and_for_verbs_that_do_things_there_is_none(folders):
    assert not on_a_terminal("show", "cells", "costa", PAGER="cat").startswith("|")
    assert not on_a_terminal("show", "cells", "costa", PAGER="no-such-pager").startswith("|")
    assert not on_a_terminal("store", "verify", PAGER="sed s/^/|/").startswith("|")
