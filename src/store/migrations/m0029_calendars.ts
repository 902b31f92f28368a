/**
 * Windows in a time zone, of weeks that begin on another day than Monday, and of months that begin on another day than the first.
 *
 * A calendar is a text: 'Europe/Berlin day', 'Europe/Berlin week sunday', 'UTC month 15'. SQL knows no time zones, and those of two
 * programs may differ, so the starts of the windows of a calendar are rows, which all read: see src/ledger/calendars.ts.
 */
export const statements: readonly string[] = [
  // until: the last start that is known. is_counted: 1 for the days of a time zone, by which spend_counters has counters whose kind
  // is the calendar. is_filled: 0 within the unit that adds it.
  `CREATE TABLE calendars (
  calendar TEXT PRIMARY KEY NOT NULL,
  is_counted INTEGER NOT NULL,
  until INTEGER NOT NULL,
  is_filled INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID`,
  `CREATE TABLE window_starts (
  calendar TEXT NOT NULL,
  start INTEGER NOT NULL,
  PRIMARY KEY (calendar, start)
) WITHOUT ROWID`,
  // Null for the windows of UTC, whose weeks begin on Monday and whose months on their first day.
  `ALTER TABLE budgets ADD COLUMN calendar TEXT`,
  `ALTER TABLE alert_rules ADD COLUMN calendar TEXT`,
  // That of the rule or the budget when it fired.
  `ALTER TABLE alerts ADD COLUMN calendar TEXT`,
];
