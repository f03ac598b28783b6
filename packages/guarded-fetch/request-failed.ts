/** `address_refused`, `limit_reached` or `proxy_failed`, with what to do about it where something can be done. */
export class RequestFailed extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly cure?: string,
    readonly retryable = false,
  ) {
    super(message);
  }
}
