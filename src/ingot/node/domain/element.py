"""Small help with XML: elements with attributes and children in one expression."""

from xml.etree.ElementTree import Element, SubElement


def put(parent: Element, tag: str, text: str | int | None = None, **attributes: str | int) -> Element:
    """Adds a child; attributes whose names are Python's words end in an underscore (`type_`)."""
    child = SubElement(parent, tag, {key.rstrip("_"): str(value) for key, value in attributes.items()})
    if text is not None:
        child.text = str(text)
    return child


def on_off(value: bool) -> str:
    return "on" if value else "off"


def yes_no(value: bool) -> str:
    return "yes" if value else "no"
