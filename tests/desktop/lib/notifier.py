"""A desktop's notification server on the session bus: org.freedesktop.Notifications. Says what it is told, one line of JSON each;
a line of JSON on its standard input, {"id": N, "action": KEY}, is a click, and the input's end is its own. Its capabilities are
its arguments."""

import json
import sys

from gi.repository import Gio, GLib

from named import own, say

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"
FACE = Gio.DBusNodeInfo.new_for_xml(
    """<node><interface name='org.freedesktop.Notifications'>
      <method name='GetCapabilities'><arg type='as' direction='out'/></method>
      <method name='Notify'>
        <arg type='s' direction='in'/><arg type='u' direction='in'/><arg type='s' direction='in'/>
        <arg type='s' direction='in'/><arg type='s' direction='in'/><arg type='as' direction='in'/>
        <arg type='a{sv}' direction='in'/><arg type='i' direction='in'/><arg type='u' direction='out'/>
      </method>
      <method name='CloseNotification'><arg type='u' direction='in'/></method>
      <signal name='ActionInvoked'><arg type='u'/><arg type='s'/></signal>
      <signal name='NotificationClosed'><arg type='u'/><arg type='u'/></signal>
      <signal name='ActivationToken'><arg type='u'/><arg type='s'/></signal>
    </interface></node>"""
).interfaces[0]

CLICKED, BY_CALL = 2, 3
capabilities = sys.argv[1:]
loop = GLib.MainLoop()
last = 0
open_ones = set()


def emit(name, *values):
    bus.emit_signal(None, PATH, NAME, name, GLib.Variant("(us)" if isinstance(values[1], str) else "(uu)", values))


def close(number, why):
    if number in open_ones:
        open_ones.remove(number)
        say(event="closed", id=number, why=why)
        emit("NotificationClosed", number, why)


def called(_bus, _sender, _path, _face, method, arguments, invocation):
    global last
    if method == "GetCapabilities":
        invocation.return_value(GLib.Variant("(as)", (capabilities,)))
    elif method == "CloseNotification":
        invocation.return_value(None)
        close(arguments.unpack()[0], BY_CALL)
    else:
        app, replaces, icon, title, body, actions, hints, expires = arguments.unpack()
        if replaces not in open_ones:
            last += 1
        number = replaces if replaces in open_ones else last
        open_ones.add(number)
        say(event="shown", id=number, replaces=replaces, app=app, icon=icon, title=title, body=body, actions=actions, hints=hints, expires=expires)
        invocation.return_value(GLib.Variant("(u)", (number,)))


def clicked(channel, condition):
    line = sys.stdin.readline() if condition & GLib.IO_IN else ""
    if not line:
        loop.quit()
        return False
    click = json.loads(line)
    emit("ActivationToken", click["id"], "a-token")
    emit("ActionInvoked", click["id"], click["action"])
    close(click["id"], CLICKED)
    return True


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
bus.register_object(PATH, FACE, called, None, None)
own(bus, NAME)
GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, clicked)
loop.run()
