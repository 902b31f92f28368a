import { editorFolders, tasksKind } from "./cline_tasks.ts";
import { defineImporter } from "./importer.ts";

/** Roo Code: `tasks/` of its extension. */
export default defineImporter({
  name: "roo",
  title: "Roo Code",
  seen: "none; written by its source, 3.x",
  holes: [
    "A request that fails on its way and is repeated has no counts.",
  ],
  roots: (machine) => editorFolders(machine, "rooveterinaryinc.roo-cline"),
  kinds: [tasksKind("roo")],
});
