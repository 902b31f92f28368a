import { SEVERITIES } from "../../contract/values.ts";
import { z } from "zod";
import { CHANNEL_NAME } from "./name_channels.ts";

/** What every channel of the config has; the other keys are its plugin's to judge, when it is opened. */
const Channel = z.looseObject({
  kind: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, "takes small letters, digits, _ and -, at most 32"),
  name: z.string().regex(CHANNEL_NAME, "takes letters, digits, ., _ and -, at most 64").optional(),
  min_severity: z.enum(SEVERITIES).optional(),
  timeout_ms: z.int().min(100).max(120_000).optional(),
});

/** The `channels` of the config file. */
export const Channels = z.array(Channel).superRefine((channels, { addIssue }) => {
  channels.forEach(({ kind, name }, index) => {
    const refuse = (message: string) => addIssue({ code: "custom", path: [index, "name"], message });
    if (name === undefined) return;
    const first = channels.findIndex((channel) => channel.name === name);
    if (first < index) refuse(`repeats the name of channels[${first}]`);
    else if (name === "log" && kind !== "log") {
      refuse("log is the name of the log channel; choose another one");
    }
  });
});
