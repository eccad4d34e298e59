#!/usr/bin/python3
"""A small window whose whole face can be dragged, once: what it carries are the URIs given as arguments."""
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, Gtk

window = Gtk.Window(title="Drag source")
window.set_default_size(160, 120)
face = Gtk.EventBox()
face.add(Gtk.Label(label="drag me"))
face.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY)
face.drag_source_add_uri_targets()
face.connect("drag-data-get", lambda _face, _context, data, _info, _time: data.set_uris(sys.argv[1:]))
face.connect("drag-end", lambda _face, _context: Gtk.main_quit())
window.add(face)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
