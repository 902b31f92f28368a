/** A failure to deliver that knows whether a later attempt may succeed; the registry makes a result of it. */
export class DeliveryError extends Error {
  readonly retry: boolean;

  constructor(message: string, options: { retry: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = "DeliveryError";
    this.retry = options.retry;
  }
}
