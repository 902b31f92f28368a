import { PurserError } from "../../kernel/errors.ts";
import type { Command } from "../command.ts";

/** Returns an error of the API as people read it: where it names a field that they wrote as an option, it names the option. */
export function nameOptions(error: unknown, { options }: Command): unknown {
  if (!(error instanceof PurserError) || !Array.isArray(error.details?.issues)) return error;
  /** Of `agent_id` the option is `--agent`, of `warn_at` `--warn-at`. */
  const optionOf = (field: string) => {
    const name = field.replaceAll("_", "-");
    const option = [name, name.replace(/-[a-z]+$/, "")].find((each) => Object.hasOwn(options, each));
    return option === undefined ? field : `--${option}`;
  };
  const inText = (text: string) => text.replaceAll(/\b[a-z]+(_[a-z]+)+\b/g, optionOf);
  let { message } = error;
  const issues = error.details.issues.map((issue) => {
    const path = optionOf(String(issue?.path));
    message = message.replace(` ${issue?.path}: `, ` ${path}: `);
    return { ...issue, path, message: inText(String(issue?.message)) };
  });
  const named = Object.create(Object.getPrototypeOf(error), Object.getOwnPropertyDescriptors(error));
  return Object.assign(named, { message: inText(message), details: { ...error.details, issues } });
}
