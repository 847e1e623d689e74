/** Whose a request is, and how that client knows it: what feedback names later. */

export interface Asker {
  readonly id: string;
  /** Name of the client's token; empty where it has shown none. */
  readonly client: string;
}
