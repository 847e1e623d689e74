/** Limits the TLS handshakes in progress. */
import type { Socket } from "node:net";

/** At the limit, the oldest handshake is cut. */
const MAX_HANDSHAKES = 256;

export class Handshakes {
  /**
   * Sockets by the peer's address and port, since Node creates a new socket for the encrypted
   * connection.
   */
  readonly #byPeer = new Map<string, Socket>();
  readonly #onFailed: () => void;

  /** @param onFailed called for each failed handshake. */
  constructor(onFailed: () => void) {
    this.#onFailed = onFailed;
  }

  begin(socket: Socket): void {
    const peer = peerOf(socket);
    this.#byPeer.set(peer, socket);
    socket.once("close", () => {
      if (this.#byPeer.get(peer) === socket) this.#byPeer.delete(peer);
    });
    if (this.#byPeer.size <= MAX_HANDSHAKES) return;
    for (const [oldest, slow] of this.#byPeer) {
      this.#byPeer.delete(oldest);
      this.#onFailed();
      slow.destroy();
      return;
    }
  }

  /** @param socket of the encrypted connection. */
  onDone(socket: Socket): void {
    this.#byPeer.delete(peerOf(socket));
  }

  cut(): void {
    for (const socket of this.#byPeer.values()) socket.destroy();
    this.#byPeer.clear();
  }

  onFailed(socket: Socket): void {
    this.#byPeer.delete(peerOf(socket));
    this.#onFailed();
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
