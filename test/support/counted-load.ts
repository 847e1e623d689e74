/** Clients that ask one front end, one request after the other, and count what became of each. */
import { setTimeout as pause } from "node:timers/promises";
import type { EdgeServers } from "./edge-servers.ts";
import { untilTrue } from "./until-true.ts";

/** Of one load, each with one request of one row at a time. */
export const CLIENTS = 4;
/** Whoever is refused asks again after a while. */
const REFUSED_MS = 50;

export class CountedLoad {
  sent = 0;
  answered = 0;
  /** Status or error of each that was not answered. */
  readonly failures: string[] = [];
  readonly #clients: Promise<void>[];
  #isOver = false;

  constructor(edge: EdgeServers, url: string, width: number, clients = CLIENTS) {
    this.#clients = Array.from({ length: clients }, () => this.#ask(edge, url, width));
  }

  /** Once so many more were answered. */
  async answeredMore(count: number): Promise<void> {
    const goal = this.answered + count;
    await untilTrue(`${count} more answers`, () => this.answered >= goal).catch((error: Error) => {
      const { answered, sent, failures } = this;
      const last = failures.slice(-3).join(", ");
      throw new Error(`${error.message}; ${answered} of ${sent} answered, last failures: ${last}`);
    });
  }

  /** Once all that were sent have an answer, or an error. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #ask(edge: EdgeServers, url: string, width: number): Promise<void> {
    while (!this.#isOver) {
      this.sent++;
      const status = await edge.answered(url, width).catch((error: unknown) => String(error));
      if (status === 200) {
        this.answered++;
      } else {
        this.failures.push(String(status));
        await pause(REFUSED_MS);
      }
    }
  }
}
