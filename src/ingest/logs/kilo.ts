import { editorFolders, tasksKind } from "./cline_tasks.ts";
import { HOLES } from "./holes.ts";
import { defineImporter } from "./importer.ts";
import { databaseKind } from "./opencode.ts";

/** Kilo Code: `kilo.db` since it is built on OpenCode, and `tasks/` of its older extension. */
export default defineImporter({
  name: "kilo",
  title: "Kilo Code",
  seen: "none; written by the sources of OpenCode 1.18 and Roo Code 3.x",
  holes: HOLES["kilo"],
  roots: (machine) => {
    const { env, home } = machine;
    return [
      env("KILO_DATA_DIR") ?? `${env("XDG_DATA_HOME") ?? `${home}/.local/share`}/kilo`,
      ...editorFolders(machine, "kilocode.kilo-code"),
    ];
  },
  kinds: [databaseKind(/(?:^|\/)kilo(?:-[^/]+)?\.db$/), tasksKind("kilo")],
});
