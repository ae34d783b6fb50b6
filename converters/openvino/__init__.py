"""OpenVINO's intermediate representation: a graph in XML with its weights in a file beside it."""

FORMAT = "OpenVINO"
SUFFIXES = (".xml",)
