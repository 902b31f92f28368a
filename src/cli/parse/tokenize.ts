/** One token of a command line: an argument, or an option with the value that goes with it. */
export type Token =
  | { kind: "positional"; value: string }
  | {
    kind: "option";
    /** Without its dashes. */
    name: string;
    /** As it stands on the line, without a value behind `=`. */
    rawName: string;
    value: string | undefined;
    /** Whether the value came behind `=`. */
    inlineValue: boolean | undefined;
  };

/**
 * Parts a command line as `parseArgs` of node:util does with `strict: false` and `tokens`; that one takes half as long to
 * load as an empty program to run. `takesValue` tells which options go with the next word; short options are one letter.
 */
export function tokenize(argv: readonly string[], takesValue: (name: string) => boolean): Token[] {
  const tokens: Token[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!;
    if (word === "--") {
      tokens.push(...argv.slice(i + 1).map((value) => ({ kind: "positional", value }) as const));
      break;
    }
    if (word.startsWith("--")) {
      const equals = word.indexOf("=", 3);
      const rawName = equals < 0 ? word : word.slice(0, equals);
      const name = rawName.slice(2);
      if (equals >= 0) tokens.push(option(name, rawName, word.slice(equals + 1), true));
      else if (takesValue(name) && i + 1 < argv.length) tokens.push(option(name, rawName, argv[++i], false));
      else tokens.push(option(name, rawName));
    } else if (word.startsWith("-") && word !== "-") {
      for (const letter of word.slice(1)) tokens.push(option(letter, `-${letter}`));
    } else tokens.push({ kind: "positional", value: word });
  }
  return tokens;
}

function option(name: string, rawName: string, value?: string, inlineValue?: boolean): Token {
  return { kind: "option", name, rawName, value, inlineValue };
}
