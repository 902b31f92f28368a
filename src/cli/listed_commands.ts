import type { CommandSpec } from "./command.ts";
import { loadAllCommands } from "./command_table.ts";

/** The commands as help lists them. In a bundle this file is data (`build/bundle_cli.ts`), so that the list loads no command. */
export const LISTED_COMMANDS: readonly CommandSpec[] = (await loadAllCommands())
  .filter(({ deprecated }) => !deprecated)
  .map(({ name, args, summary }) => ({ name, args, summary, options: {}, examples: [] }));
