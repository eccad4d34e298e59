#!/usr/bin/python3
"""Answers questions about pictures, a line for a line: `colours PATH MAX` is answered with how many it has, counted up to one more than MAX; `same PATH PATH EDGE` with 1 if both show the same but for EDGE columns at the right, else 0."""
import sys

import gi

gi.require_version("GdkPixbuf", "2.0")
from gi.repository import GdkPixbuf


def rows(path, edge=0):
    picture = GdkPixbuf.Pixbuf.new_from_file(path)
    pixels, step, each = picture.get_pixels(), picture.get_rowstride(), picture.get_n_channels()
    length = (picture.get_width() - edge) * each
    return [pixels[row * step : row * step + length] for row in range(picture.get_height())], each


def colours(path, most):
    found = set()
    lines, each = rows(path)
    for line in lines:
        found.update(line[at : at + each] for at in range(0, len(line), each))
        if len(found) > int(most):
            break
    return len(found)


def same(one, other, edge):
    return int(rows(one, int(edge)) == rows(other, int(edge)))


for question in sys.stdin:
    name, *rest = question.rstrip("\n").split("\t")
    print({"colours": colours, "same": same}[name](*rest), flush=True)
