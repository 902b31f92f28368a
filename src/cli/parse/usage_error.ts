import { PurserError } from "../../kernel/errors.ts";

/** An invalid command line. `command` is the one whose help explains it. */
export class UsageError extends PurserError {
  readonly command: string | undefined;

  constructor(message: string, command?: string, cause?: unknown) {
    super("invalid", message, { cause });
    this.name = "UsageError";
    this.command = command;
  }
}
