"""What a panel asks an item of, and what a click in its menu does. Reads lines of JSON, {"service": NAME, "do": ...}, and answers
each with one: {"do": "look"} is the item's state and its menu, {"do": "click", "label": TEXT} chooses an entry."""

import json
import sys

from gi.repository import Gio, GLib

ITEM, ITEM_FACE = "/StatusNotifierItem", "org.kde.StatusNotifierItem"
MENU_FACE = "com.canonical.dbusmenu"
WAIT_MS = 10_000
bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def call(service, path, face, method, arguments):
    return bus.call_sync(service, path, face, method, arguments, None, Gio.DBusCallFlags.NONE, WAIT_MS, None).unpack()


def properties(service):
    return call(service, ITEM, "org.freedesktop.DBus.Properties", "GetAll", GLib.Variant("(s)", (ITEM_FACE,)))[0]


def entries(service, menu):
    _revision, (_root, _own, children) = call(service, menu, MENU_FACE, "GetLayout", GLib.Variant("(iias)", (0, -1, [])))
    return [{"id": number, **values} for number, values, _below in children]


def pictures(pixmaps):
    return [{"width": width, "height": height, "bytes": len(data), "drawn": sum(alpha > 127 for alpha in data[::4])} for width, height, data in pixmaps]


def done(order):
    service = order["service"]
    found = properties(service)
    menu = entries(service, found["Menu"])
    if order["do"] == "click":
        (entry,) = [entry for entry in menu if entry.get("label") == order["label"]]
        event = GLib.Variant("(isvu)", (entry["id"], "clicked", GLib.Variant("i", 0), 0))
        call(service, found["Menu"], MENU_FACE, "Event", event)
        return {}
    for name in ("IconPixmap", "AttentionIconPixmap"):
        found[name] = pictures(found[name])
    return {"item": {name: value for name, value in found.items() if not name.startswith("Overlay")}, "menu": menu}


for line in sys.stdin:
    try:
        print(json.dumps(done(json.loads(line))), flush=True)
    except (GLib.Error, ValueError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
