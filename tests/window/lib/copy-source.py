#!/usr/bin/python3
"""Has copied the files whose URIs are given as arguments, as a file manager does: it owns the clipboard until it is ended."""
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, GLib, Gtk

window = Gtk.Window(title="Copy source")
window.set_default_size(60, 40)
window.realize()
Gtk.selection_add_target(window, Gdk.SELECTION_CLIPBOARD, Gdk.Atom.intern("text/uri-list", False), 0)
window.connect("selection-get", lambda _window, data, _info, _time: data.set_uris(sys.argv[1:]))


def own():
    print("owned" if Gtk.selection_owner_set(window, Gdk.SELECTION_CLIPBOARD, Gdk.CURRENT_TIME) else "refused", flush=True)


GLib.idle_add(own)
Gtk.main()
