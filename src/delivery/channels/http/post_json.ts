/** A POST of JSON text to an address that somebody configured. */
export interface PostRequest {
  url: string;
  body: string;
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** What came back: at most 64 KiB of the body. */
export interface PostAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Posts; rejects with a DeliveryError when there is no answer. Never follows a redirect. */
export type PostJson = (request: PostRequest) => Promise<PostAnswer>;

/** How much of an answer is read. */
export const MAX_ANSWER_BYTES = 64 * 1024;
