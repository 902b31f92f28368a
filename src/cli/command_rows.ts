import { usageRow } from "./command.ts";
import { loadAllCommands } from "./command_table.ts";

/** The commands as the help lists them. In a bundle this file is data (`build/bundle_cli.ts`), so that help loads no command. */
export const COMMAND_ROWS = (await loadAllCommands()).filter(({ deprecated }) => !deprecated).map(usageRow);
