const list = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => item(index)).join();

/** Returns twenty names in one of many orders. */
const inOrder = (seed: number) => {
  const places = Array.from("abcdefghijklmnopqrst", (name, i) => ({
    name,
    at: (seed * 7_919 * (i + 1) ** 3) % 99_991,
  }));
  return places.sort((a, b) => a.at - b.at).map(({ name }) => name);
};

/** JSON that takes long to parse or to check, by what it has many of; each of some units of work. */
export const LONG_TO_PARSE: Readonly<Record<string, (units: number) => string>> = {
  numbers: (units) => `[${list(units, () => "1")}]`,
  "names of one object": (units) => `{${list(units / 11, (i) => `"k${i}":1`)}}`,
  "names that are numbers": (units) => `{${list(units / 11, (i) => `"${(i * 7_919) % 4_294_967_291}":1`)}}`,
  "names of small objects": (units) =>
    `[${list(units / 115, (i) => `{${list(10, (j) => `"f${i}_${j}":1`)}}`)}]`,
  "names in many orders": (units) =>
    `[${list(units / 140, (i) => `{${inOrder(i).map((name) => `"${name}":1`)}}`)}]`,
  "one name again": (units) => `{${list(units / 11, () => '"a":1')}}`,
  objects: (units) => `[${list(units / 2, () => "{}")}]`,
  "short texts": (units) => `[${list(units / 11, (i) => `"w${i.toString(36)}"`)}]`,
  "alike objects": (units) => `[${list(units / 4, () => '{"type":"text","text":"a","role":"user"}')}]`,
  "lists in each other": (units) => "[".repeat(units) + "]".repeat(units),
  escapes: (units) => `"${"\\n".repeat(units * 8)}"`,
  "escaped quotes": (units) => `"${'\\"'.repeat(units * 8)}"`,
  "escaped surrogates": (units) => `"${"\\ud800".repeat(units * 8)}"`,
  blanks: (units) => `1${" ".repeat(units * 32)}`,
  "digits of numbers": (units) => `[${list(units / 1_000, () => "9".repeat(32_000))}]`,
};
