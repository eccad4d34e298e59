"""What the programs here share that have a well-known name on the session bus."""

import json
import sys

from gi.repository import Gio


def say(**line):
    """Tells the test, one line of JSON each."""
    print(json.dumps(line), flush=True)


def own(bus, name):
    """Takes the name, and says when it is there. The program ends with it."""
    has_name = False

    def owned(*_):
        nonlocal has_name
        has_name = True
        say(event="ready")

    def lost(bus, _name):
        # A server that the bus has started for an earlier program may have the name still, and ends.
        if has_name or bus is None or bus.is_closed():
            sys.exit("the name was taken away, or the bus has gone")

    Gio.bus_own_name_on_connection(bus, name, Gio.BusNameOwnerFlags.NONE, owned, lost)
