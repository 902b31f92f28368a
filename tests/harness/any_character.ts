import fc from "#dev/fast_check.ts";

const SURROGATES = { from: 0xd800, count: 0x800 };
const MAX = 0x10ffff - SURROGATES.count;

/**
 * Any code point but surrogates, as the unit of `fc.string`: what its own unit `binary` generates, without the second that
 * it takes to list all of them.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(MAX).map(
  (n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count),
  (character) => {
    const [first, ...more] = typeof character === "string" ? character : [];
    if (first === undefined || more.length > 0) {
      throw new TypeError("Cannot shrink it: it is not one character");
    }
    const point = first.codePointAt(0)!;
    return point < SURROGATES.from ? point : point - SURROGATES.count;
  },
);
