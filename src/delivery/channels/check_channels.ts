import { PurserError } from "../../kernel/errors.ts";
import type { Channels } from "./open_channels.ts";

/**
 * Refuses channels that can't deliver, for processes that nobody may look at again before an alert is due.
 *
 * @param configPath where their settings stand
 * @throws {PurserError} `invalid`, naming every one of them and what is wrong
 */
export async function checkChannels(
  { list }: Pick<Channels, "list">,
  configPath = "the config file",
): Promise<void> {
  const checked = await Promise.all(
    list.map(async (channel) => ({
      name: channel.name,
      kind: channel.kind,
      problem: await channel.check(),
    })),
  );
  const wrong = checked.filter(({ problem }) => problem !== undefined);
  if (wrong.length === 0) return;
  throw new PurserError(
    "invalid",
    [
      `Cannot start: alerts can't be delivered through ${wrong.length} ${
        wrong.length === 1 ? "channel" : "channels"
      }`,
      ...wrong.map(({ name, kind, problem }) => `  ${name} (${kind}): ${problem}`),
      `Correct each in ${configPath} or take it out; purser doctor checks them without serving`,
    ].join("\n"),
    { details: { channels: wrong } },
  );
}
