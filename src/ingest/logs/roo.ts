import { editorFolders, tasksKind } from "./cline_tasks.ts";
import { HOLES } from "./holes.ts";
import { defineImporter } from "./importer.ts";

/** Roo Code: `tasks/` of its extension. */
export default defineImporter({
  name: "roo",
  title: "Roo Code",
  seen: "none; written by its source, 3.x",
  holes: HOLES["roo"],
  roots: (machine) => editorFolders(machine, "rooveterinaryinc.roo-cline"),
  kinds: [tasksKind("roo")],
});
