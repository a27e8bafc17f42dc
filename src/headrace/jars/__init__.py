"""Java programs that Headrace uses but does not carry: names go in, checked jars on this machine come out."""
