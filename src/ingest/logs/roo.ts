import { editorFolders, tasksKind } from "./cline_tasks.ts";
import { defineImporter } from "./importer.ts";

/** Roo Code: `tasks/` of its extension. */
export default defineImporter({
  name: "roo",
  title: "Roo Code",
  seen: "none: written by its source",
  holes: [
    "The model and the provider of a request are not recorded: its cost is the one that Roo Code has computed.",
    "Of requests that were deleted only the sum is left, and of the compaction of a conversation only its cost.",
  ],
  roots: (machine) => editorFolders(machine, "rooveterinaryinc.roo-cline"),
  kinds: [tasksKind("roo")],
});
