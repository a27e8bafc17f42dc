"""Small files on any storage that Spark reaches: local disk, HDFS, object stores."""

from typing import Any

from pyspark.sql import SparkSession


class Folder:
    """A folder, addressed as Spark addresses it; every write becomes visible whole or not at all."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __truediv__(self, name: str) -> "Folder":
        return Folder(f"{self.path}/{name}")

    def __repr__(self) -> str:
        return f"Folder({self.path!r})"

    def make(self) -> "Folder":
        """Create the folder and those above it."""
        system, path = self._system()
        system.mkdirs(path)
        return self

    def exists(self) -> bool:
        """Say whether the folder is there."""
        system, path = self._system()
        return bool(system.exists(path))

    def delete(self) -> None:
        """Delete the folder and all below it."""
        system, path = self._system()
        system.delete(path, True)

    def names(self) -> list[str]:
        """Return the names of what is in the folder, sorted; empty if it is not there."""
        system, path = self._system()
        if not system.exists(path):
            return []
        return sorted(status.getPath().getName() for status in system.listStatus(path))

    def write(self, name: str, text: str) -> None:
        """Write a file, replacing one of that name."""
        system, target = self._system(name)
        _, hidden = self._system(f".{name}.new")
        stream = system.create(hidden, True)
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()
        if system.exists(target):
            system.delete(target, False)
        system.rename(hidden, target)

    def read(self, name: str) -> str | None:
        """Return the text of a file, None if it is not there."""
        system, path = self._system(name)
        if not system.exists(path):
            return None
        stream = system.open(path)
        try:
            jvm = _jvm()
            return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode("utf-8")
        finally:
            stream.close()

    def move(self, name: str, target: "Folder", new_name: str) -> None:
        """Move a file of this folder into another."""
        system, path = self._system(name)
        _, destination = target._system(new_name)
        system.mkdirs(destination.getParent())
        if not system.rename(path, destination):
            raise OSError(f"{path} could not be moved to {destination}")

    def remove(self, name: str) -> None:
        """Delete a file of this folder."""
        system, path = self._system(name)
        system.delete(path, False)

    def sweep(self) -> None:
        """Delete the files of this folder that Spark had begun to write when it was killed."""
        for name in self.names():
            if name.startswith(".") and name.removesuffix(".crc").endswith(".tmp"):
                self.remove(name)

    def files(self) -> list[str]:
        """Return the paths of all files below the folder, relative to it."""
        system, path = self._system()
        if not system.exists(path):
            return []
        found, listing = [], system.listFiles(path, True)
        root = str(path.toUri().getPath()).rstrip("/") + "/"
        while listing.hasNext():
            found.append(str(listing.next().getPath().toUri().getPath()).removeprefix(root))
        return sorted(found)

    def _system(self, name: str | None = None) -> tuple[Any, Any]:
        jvm = _jvm()
        path = jvm.org.apache.hadoop.fs.Path(self.path if name is None else f"{self.path}/{name}")
        session = SparkSession.getActiveSession()
        configuration = session._jsc.hadoopConfiguration() if session is not None else None
        system = path.getFileSystem(configuration)
        if str(system.getClass().getSimpleName()) == "LocalFileSystem":
            system = system.getRawFileSystem()  # without it every small file has a checksum file beside it
        return system, path


def _jvm() -> Any:
    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("storage is used before Spark has started")
    return session._jvm
