/** The list of sessions, latest first, reads those of its page and no others. */
export const statements: readonly string[] = [
  `CREATE INDEX usage_sessions_updated ON usage_sessions (last_at DESC, session_id DESC)`,
];
