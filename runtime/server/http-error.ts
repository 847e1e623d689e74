/**
 * An answer other than 200, with its reason as JSON; thrown. Not an Error, because an overloaded
 * server must be able to refuse without the cost of a stack trace.
 */
export class HttpError {
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.message = message;
    this.headers = headers;
  }
}

/** For what may well be answered if it is asked again. */
export const RETRY_LATER = { "retry-after": "1" };
