/** The windows of calendars, by stepping from one day or quarter hour to the next. */

const DAY = 86_400_000;
const QUARTER_HOUR = 900_000;

/** The first and the next millisecond of a calendar window, by the date alone. */
export function calendar(
  per: "day" | "week" | "month" | "quarter",
  at: number,
): [from: number, resetsAt: number] {
  const isFirst = (day: number) => {
    const date = new Date(day);
    const isOfQuarter = per !== "quarter" || date.getUTCMonth() % 3 === 0;
    return per === "day" ||
      (per === "week" ? date.getUTCDay() === 1 : date.getUTCDate() === 1 && isOfQuarter);
  };
  let from = Date.parse(`${new Date(at).toISOString().slice(0, 10)}T00:00:00.000Z`);
  let next = from + DAY;
  while (!isFirst(from)) from -= DAY;
  while (!isFirst(next)) next += DAY;
  return [from, next];
}

const zonedWindows = new Map<string, [from: number, resetsAt: number][]>();

/** The same in a time zone: the quarter hours before and after which the local date is another one. */
export function zoned(text: string, at: number): [from: number, resetsAt: number] {
  if (!zonedWindows.has(text)) zonedWindows.set(text, []);
  const known = zonedWindows.get(text)!.find(([from, to]) => from <= at && at < to);
  if (known) return known;
  const [timeZone, span, start] = text.split(" ");
  const format = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" });
  const isFirst = (time: number) => {
    const date = format.format(time);
    if (date === format.format(time - QUARTER_HOUR)) return false;
    const day = new Date(`${date}T00:00:00Z`);
    if (span === "day") return true;
    if (span === "week") {
      return new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" }).format(day).toLowerCase() ===
        start;
    }
    return day.getUTCDate() === Number(start) && (span === "month" || day.getUTCMonth() % 3 === 0);
  };
  let from = Math.floor(at / QUARTER_HOUR) * QUARTER_HOUR;
  let next = from + QUARTER_HOUR;
  while (!isFirst(from)) from -= QUARTER_HOUR;
  while (!isFirst(next)) next += QUARTER_HOUR;
  zonedWindows.get(text)!.push([from, next]);
  return [from, next];
}
