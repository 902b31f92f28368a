import type { Add } from "./credential_finding.ts";
import { tailBefore } from "./credential_text.ts";
import { lengthOfRest, readBare } from "./find_assignments.ts";
import { kindOf, trustOf } from "./secret_name.ts";
import { isPlaceholder, isSecret } from "./secret_value.ts";

const FLAG = /(?<![\w-])(?:--([a-z][\w-]{2,40})|-u)[ \t=]+(["']?)/gi;

/** Finds what follows `--password`, `--token` and the like, and the password of curl's user. */
export function findFlags(text: string, add: Add): void {
  for (const { 0: flag, 1: name = "user", 2: quote, index } of text.matchAll(FLAG)) {
    const isUser = /^(?:proxy-)?user$/.test(name);
    const trust = trustOf(name);
    if (!isUser && !trust) continue;
    const start = index + flag.length;
    const value = readBare(text, start);
    const end = start + value.length;
    if (trust) {
      const isCredential = isSecret(value, { name, trust, isQuoted: quote !== "" });
      if (isCredential) add({ kind: kindOf(name, trust), start, end: end + lengthOfRest(text, end, value) });
      continue;
    }
    const password = value.slice(value.indexOf(":") + 1);
    if (password === value || isPlaceholder(password)) continue;
    if (!/\bcurl\b/.test(tailBefore(text, index, 1000))) continue;
    add({ kind: "authorization_header", start: end - password.length, end });
  }
}
