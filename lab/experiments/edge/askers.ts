/** Clients of a site, who go on whatever becomes of its server, and count what became of it all. */
import { setTimeout as pause } from "node:timers/promises";
import { NotListening, Talk } from "../../campaign/stopping/talk.ts";

/** What became of requests; a request is sent once a connection is there. */
export interface Counts {
  sent: number;
  readonly byStatus: Map<number, number>;
  /** Connections that ended before the answer. */
  cut: number;
  /** Times that nobody listened; nothing was sent then. */
  away: number;
  /** What was said with statuses that are neither an answer nor that there is no room. */
  readonly faults: Set<string>;
}

const CLIENTS = 4;
/** Mean time between an answer and the next request of a client. */
const GAP_MS = 25;
const LOOK_MS = 5;
/** An answer, and that there is no room for one. */
const EXPECTED = new Set([200, 503]);
const MAX_FAULT = 120;

export class Askers {
  readonly #port: number;
  readonly #messages: readonly Uint8Array[];
  readonly #running: Promise<void>[];
  readonly #total = noCounts();
  #counts = noCounts();
  #isOver = false;

  constructor(port: number, messages: readonly Uint8Array[]) {
    this.#port = port;
    this.#messages = messages;
    this.#running = Array.from({ length: CLIENTS }, () => this.#go());
  }

  /** What was sent since it was asked last, once it is known what became of each. */
  async take(): Promise<Counts> {
    const counts = this.#counts;
    this.#counts = noCounts();
    while (openOf(counts) > 0) await pause(LOOK_MS);
    add(counts, this.#total);
    return counts;
  }

  /** Of all that was taken. */
  get total(): Counts {
    return this.#total;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#talk(await Talk.open(this.#port));
      } catch (error) {
        if (!(error instanceof NotListening)) throw error;
        this.#counts.away++;
      }
      await pause(GAP_MS);
    }
  }

  async #talk(talk: Talk): Promise<void> {
    while (!this.#isOver && !talk.isOver) {
      const counts = this.#counts;
      const message = this.#messages[counts.sent++ % this.#messages.length];
      talk.write(message ?? new Uint8Array());
      const reply = await talk.reply();
      if (reply === null) {
        counts.cut++;
        break;
      }
      counts.byStatus.set(reply.status, (counts.byStatus.get(reply.status) ?? 0) + 1);
      if (!EXPECTED.has(reply.status)) counts.faults.add(faultText(reply.body));
      if (reply.isLast) break;
      await pause(2 * Math.random() * GAP_MS);
    }
    talk.close();
  }
}

function noCounts(): Counts {
  return { sent: 0, byStatus: new Map(), cut: 0, away: 0, faults: new Set() };
}

function answeredOf({ byStatus }: Counts): number {
  return [...byStatus.values()].reduce((sum, count) => sum + count, 0);
}

/** Requests of which nobody knows yet. */
function openOf(counts: Counts): number {
  return counts.sent - answeredOf(counts) - counts.cut;
}

function add(counts: Counts, total: Counts): void {
  total.sent += counts.sent;
  total.cut += counts.cut;
  total.away += counts.away;
  for (const fault of counts.faults) total.faults.add(fault);
  for (const [status, count] of counts.byStatus) {
    total.byStatus.set(status, (total.byStatus.get(status) ?? 0) + count);
  }
}

function faultText(body: Uint8Array): string {
  return Buffer.from(body).toString("utf8").slice(0, MAX_FAULT);
}

/** As a cell of a table: answers with 200 of what was sent, and what else there was. */
export function countsText({ sent, byStatus, cut, away, faults }: Counts): string {
  const others = [...byStatus]
    .filter(([status]) => status !== 200)
    .map(([status, count]) => `${status}: ${count}`);
  const rest = [
    ...others,
    ...faults,
    ...(cut > 0 ? [`cut: ${cut}`] : []),
    ...(away > 0 ? ["down"] : []),
  ];
  return [`${byStatus.get(200) ?? 0} of ${sent}`, ...rest].join(", ");
}
