/** Descriptors of this process: what connections leave to workers, logs, sources and files. */
import type { Socket } from "node:net";

/** Kept back for connections that are too many, until they have read so. */
export const SURPLUS_DESCRIPTORS = 32;

/** Whether a connection is served, gets an answer that it is too many, or is closed at once. */
export type Room = "free" | "surplus" | "none";

export class Descriptors {
  /** Maximum number of open descriptors; Infinity if unknown. */
  readonly limit: number;
  #kept = SURPLUS_DESCRIPTORS;

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.limit = limit;
  }

  /** Descriptors that connections leave free: at most half, if the limit was not checked. */
  get kept(): number {
    return Math.min(this.#kept, Math.floor(this.limit / 2));
  }

  keep(count: number): void {
    this.#kept += count;
  }

  /**
   * Judges an accepted connection by the number of its descriptor: the system assigns the lowest
   * free one, so that all below it are in use.
   */
  roomFor(socket: Socket): Room {
    const over = descriptorOf(socket) - (this.limit - this.kept);
    if (over < 0) return "free";
    return over < SURPLUS_DESCRIPTORS ? "surplus" : "none";
  }
}

/** Why a connection is rejected. */
export function tooManyText(room: Room, maxConnections: number): string {
  if (room === "free") return `expected at most ${maxConnections} connections`;
  return "expected fewer connections: the other descriptors of the server are kept for its workers";
}

/** Returns -Infinity where the system has no such numbers. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle }: { _handle?: { readonly fd?: number } | null } = Object(socket);
  return handle?.fd ?? Number.NEGATIVE_INFINITY;
}
