/** A source of numbers in [0, 1). */
export type Random = () => number;

const STRANGE: readonly unknown[] = [
  null,
  "",
  "x",
  "12",
  "2026-11-26T00:00:00Z",
  "\u0000\ud800",
  "y".repeat(100_000),
  -1,
  0,
  0.5,
  1e308,
  2 ** 53,
  true,
  false,
  [],
  {},
  [[]],
  { toString: 1, __proto__: 2, constructor: null },
];

/** Changes one record of a text of lines or of one document. */
export function mutate(text: string, random: Random): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const lines = text.split("\n");
  const index = Math.floor(random() * lines.length);
  const line = lines[index]!;
  const how = random();
  if (how < 0.15) lines[index] = line.slice(0, Math.floor(random() * line.length));
  else if (how < 0.25) {
    lines[index] = pick([
      "",
      "{",
      "null",
      "[]",
      "1",
      '"usage"',
      "{}",
      line + line,
      `\ufeff${line}`,
      line.repeat(2),
    ]);
  } else if (how < 0.35) {
    const at = Math.floor(random() * line.length);
    lines[index] = line.slice(0, at) + pick(["\\", '"', "\u0000", "{", "}", ",", "9", "-"]) +
      line.slice(at + 1);
  } else lines[index] = mutateJson(line, random);
  return lines.join("\n");
}

function mutateJson(line: string, random: Random): string {
  let root: unknown;
  try {
    root = JSON.parse(line);
  } catch {
    return line;
  }
  const places: { home: Record<string, unknown>; key: string }[] = [];
  const walk = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) {
      places.push({ home: value as Record<string, unknown>, key });
      walk((value as Record<string, unknown>)[key]);
    }
  };
  walk(root);
  if (places.length === 0) return line;
  const changes = 1 + Math.floor(random() * 3);
  for (let i = 0; i < changes; i++) {
    const { home, key } = places[Math.floor(random() * places.length)]!;
    const how = random();
    if (how < 0.2) delete home[key];
    else if (how < 0.4 && typeof home[key] === "number") {
      home[key] = Math.floor(home[key] as number * random() * 3);
    } else home[key] = STRANGE[Math.floor(random() * STRANGE.length)];
  }
  return JSON.stringify(root);
}
