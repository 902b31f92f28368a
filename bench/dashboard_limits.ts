/** The figures of one page of the dashboard, in milliseconds. */
export interface PageFigures {
  page: string;
  /** Each request with its duration when the server has nothing else to do. */
  requests: readonly { path: string; aloneMs: number }[];
  /** From the last answer to the figures on the page. */
  shownMs: number;
}

/** The limits of a page over a million calls. */
export const LIMITS = { requests: 3, requestMs: 20, shownMs: 200 };

/** Returns a sentence for each limit that a page exceeds. */
export function exceeded({ page, requests, shownMs }: PageFigures): string[] {
  return [
    ...(requests.length > LIMITS.requests
      ? [`${page} sends ${requests.length} requests; at most ${LIMITS.requests}`]
      : []),
    ...requests.filter(({ aloneMs }) => !(aloneMs <= LIMITS.requestMs)).map(({ path, aloneMs }) =>
      `${page}: ${path} takes ${aloneMs.toFixed(1)} ms; at most ${LIMITS.requestMs}`
    ),
    ...(!(shownMs <= LIMITS.shownMs)
      ? [
        `${page} shows its figures ${shownMs.toFixed(0)} ms after the last answer; at most ${LIMITS.shownMs}`,
      ]
      : []),
  ];
}
