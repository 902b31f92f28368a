/** One command line of the table: its output is compared between all sandboxes, and checked here where it matters. */
export interface Row {
  /**
   * As a shell would read it, without `purser`. `$NAME` stands for a value kept by an earlier row, `$FOLDER` for the
   * sandbox's folder.
   */
  line: string;
  stdin?: string;
  /** The exit code; 0 unless given. */
  code?: number;
  out?: RegExp;
  err?: RegExp;
  /** Keeps the first group of a match in standard output for later rows. */
  keep?: readonly [name: string, pattern: RegExp];
  /** The output depends on the command line alone: the row runs over the file only, locally and remotely. */
  isOffline?: true;
  /** Only a process of its own is kept in the sandbox, by its environment. */
  needsProcess?: true;
  /** Lines that describe the sandbox itself, and so must differ. */
  varying?: RegExp;
}
