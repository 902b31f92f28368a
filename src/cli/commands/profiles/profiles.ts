import { type ListedProfile, openProfiles } from "../../../config/mod.ts";
import { arg, type BareContext, type Command } from "../../command.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** `purser profiles list` */
export const profilesList: Command = {
  name: "profiles list",
  args: [],
  summary: "List the profiles of the config file",
  options: {},
  examples: [["purser profiles list", ""]],
  runWithoutConfig: listProfiles,
};

async function listProfiles(ctx: BareContext): Promise<void> {
  const { path, list } = await openProfiles({ env: ctx.env, configPath: ctx.options.text("config") });
  const profiles = await list();
  if (ctx.isJson) return ctx.print(JSON.stringify(profiles));
  if (profiles.length === 0) {
    return ctx.print(
      `No profiles in ${
        escapeText(path)
      }. Add one: purser profiles add prod --server https://purser.example.com`,
    );
  }
  const { stdout: { columns }, hasUnicode } = ctx.terminal;
  ctx.print(renderTable(profiles, [
    { title: "NAME", cell: ({ name }) => name, paint: (_, style) => style.bold, cutTo: 8 },
    { title: "KIND", cell: ({ server }) => server === null ? "db" : "server", drop: 2 },
    { title: "TARGET", cell: ({ server, db }) => server ?? db ?? "", cutTo: 16 },
    { title: "SECRET", cell: describeSecret, cutTo: 10, drop: 1 },
  ], { columns, style: ctx.style, hasUnicode }));
}

function describeSecret({ api_key_file, has_secret }: ListedProfile): string {
  return api_key_file ?? (has_secret ? "in the config file" : "none");
}

/** `purser profiles remove NAME`. Prints nothing with `--json`, like every command that removes. */
export const profilesRemove: Command = {
  name: "profiles remove",
  args: [arg("NAME", { live: "profile" })],
  summary: "Remove a profile from the config file",
  options: {},
  examples: [["purser profiles remove prod", ""]],
  runWithoutConfig: removeProfile,
};

async function removeProfile(ctx: BareContext): Promise<void> {
  const [name] = ctx.args as [string];
  const { path, remove } = await openProfiles({ env: ctx.env, configPath: ctx.options.text("config") });
  await remove(name);
  if (!ctx.isJson) ctx.print(escapeText(`Removed profile ${name} from ${path}`));
}
