package org.headrace;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Local files for Hadoop without what a checkpoint of many small files pays for: a process that runs chmod for each, and
 * a second file with a checksum.
 */
public final class PlainFiles extends LocalFileSystem {
  public PlainFiles() {
    super(new Raw());
    setWriteChecksum(false);
    setVerifyChecksum(false);
  }

  /** Sets permissions in this process. */
  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      Set<PosixFilePermission> wanted = EnumSet.noneOf(PosixFilePermission.class);
      add(wanted, permission.getUserAction(), "OWNER");
      add(wanted, permission.getGroupAction(), "GROUP");
      add(wanted, permission.getOtherAction(), "OTHERS");
      Files.setPosixFilePermissions(pathToFile(path).toPath(), wanted);
    }

    private static void add(Set<PosixFilePermission> wanted, FsAction action, String who) {
      for (FsAction each : new FsAction[] {FsAction.READ, FsAction.WRITE, FsAction.EXECUTE}) {
        if (action.implies(each)) {
          wanted.add(PosixFilePermission.valueOf(who + "_" + each.name()));
        }
      }
    }
  }
}
