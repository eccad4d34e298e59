#!/usr/bin/python3
"""A small window that can be dragged, once, or with `copy` owns the clipboard until it is ended: what it has is the text, or with `uri` the address, on its standard input."""
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, GLib, Gtk

how, what = sys.argv[1], sys.argv[2]
text = sys.stdin.buffer.read().decode()


def give(data):
    if what == "uri":
        data.set_uris([text])
    else:
        data.set_text(text, -1)


if how == "copy":
    clipboard = Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD)

    def own():
        clipboard.set_text(text, -1)
        print("owned", flush=True)

    GLib.idle_add(own)
    Gtk.main()
elif how == "paste":
    print(Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD).wait_for_text() or "", end="")
else:
    window = Gtk.Window(title="Drag source")
    window.set_default_size(160, 120)
    face = Gtk.EventBox()
    face.add(Gtk.Label(label="drag me"))
    face.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY)
    if what == "uri":
        face.drag_source_add_uri_targets()
    else:
        face.drag_source_add_text_targets()
    face.connect("drag-data-get", lambda _face, _context, data, _info, _time: give(data))
    face.connect("drag-end", lambda _face, _context: Gtk.main_quit())
    window.add(face)
    window.connect("destroy", Gtk.main_quit)
    window.show_all()
    Gtk.main()
