/** Claims of a delivery whose process died, which are not among its attempts. */
export const statements: readonly string[] = [
  `ALTER TABLE deliveries ADD COLUMN lost_claims INTEGER NOT NULL DEFAULT 0`,
];
