const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar for a part from 0 to 1, at most `width` columns long. What is more than nothing shows. */
export function renderBar(part: number, width: number, hasUnicode: boolean): string {
  if (!(part > 0)) return "";
  const full = Math.min(part, 1) * width;
  if (!hasUnicode) return "#".repeat(Math.max(1, Math.round(full)));
  const eighths = Math.max(1, Math.round(full * 8));
  return "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}
