/** Returns a decimal text as an integer of its last decimal; `decimals` is at least what it has. */
export function toUnits(text: string, decimals: number): bigint {
  const [whole, fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** Returns an integer of a last decimal as an exact text that reads as a decimal number: `27174.0`. */
export function toDecimalText(units: bigint, decimals: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0");
  const split = digits.length - decimals;
  let end = digits.length;
  while (end > split && digits[end - 1] === "0") end--;
  return `${units < 0n ? "-" : ""}${digits.slice(0, split)}.${digits.slice(split, end) || "0"}`;
}
