"""A panel's side of the tray: org.kde.StatusNotifierWatcher on the session bus. Says each item that registers, one line of
JSON each, and ends with its standard input."""

import sys

from gi.repository import Gio, GLib

from named import own, say

NAME = "org.kde.StatusNotifierWatcher"
PATH = "/StatusNotifierWatcher"
FACE = Gio.DBusNodeInfo.new_for_xml(
    """<node><interface name='org.kde.StatusNotifierWatcher'>
      <method name='RegisterStatusNotifierItem'><arg type='s' direction='in'/></method>
      <method name='RegisterStatusNotifierHost'><arg type='s' direction='in'/></method>
      <property name='RegisteredStatusNotifierItems' type='as' access='read'/>
      <property name='IsStatusNotifierHostRegistered' type='b' access='read'/>
      <property name='ProtocolVersion' type='i' access='read'/>
    </interface></node>"""
).interfaces[0]

loop = GLib.MainLoop()
items = []


def called(_bus, sender, _path, _face, method, arguments, invocation):
    if method == "RegisterStatusNotifierItem":
        (service,) = arguments.unpack()
        items.append(service)
        say(event="registered", service=service, sender=sender)
    invocation.return_value(None)


def asked(_bus, _sender, _path, _face, name):
    if name == "RegisteredStatusNotifierItems":
        return GLib.Variant("as", items)
    return GLib.Variant("b", True) if name.startswith("Is") else GLib.Variant("i", 0)


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
bus.register_object(PATH, FACE, called, asked, None)
own(bus, NAME)
GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_HUP, lambda *_: loop.quit())
loop.run()
