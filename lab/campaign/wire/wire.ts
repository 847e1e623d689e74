/**
 * What a transport has to say to be attacked: its messages, how they are spoilt, and what a server
 * owes to whoever sent them. HTTP/1.1 is the only one today; another, such as gRPC, is another
 * `Wire` beside it.
 */
import type { Draw } from "./draw.ts";

export interface Wire {
  readonly name: string;
  /** A message in order. */
  readonly valid: (draw: Draw) => Buffer;
  /** A message with something wrong; by chance it may still be in order. */
  readonly spoilt: (draw: Draw) => Buffer;
  /**
   * What is wrong with what came back.
   * @param sent messages in order, then at most one that is spoilt, with which the client ended
   * its side.
   * @returns undefined if nothing is.
   */
  readonly complaint: (sent: Sent, received: Buffer) => string | undefined;
}

export interface Sent {
  readonly valid: readonly Buffer[];
  readonly spoilt: Buffer;
}
