/** Clients of all habits, who go on until they are told to end or nobody listens any more. */
import { setTimeout as pause } from "node:timers/promises";
import { NotListening, type Reply, Talk } from "./talk.ts";

/** What became of requests, by status; those without an answer by the habit of their client. */
export interface Fates {
  readonly byStatus: Map<number, number>;
  readonly unanswered: string[];
  /**
   * First requests of connections that were reset before a byte came. The kernel does so to a
   * connection that it accepts for a listener between its last look and its close, which no program
   * can prevent; the client knows that nobody has read its request.
   */
  resetUnheard: number;
}

/** How a client asks: on a connection that is there, and to be left when it says so. */
interface Habit {
  readonly name: string;
  readonly clients: number;
  /** Requests that are sent before the first answer is read. */
  readonly pipelined: number;
  /** Whether a body comes in two halves with a pause between them. */
  readonly isHalved: boolean;
  /** Whether the connection is used again. */
  readonly isKept: boolean;
}

const HABITS: readonly Habit[] = [
  { name: "kept", clients: 8, pipelined: 1, isHalved: false, isKept: true },
  { name: "new connection", clients: 4, pipelined: 1, isHalved: false, isKept: false },
  { name: "half body", clients: 3, pipelined: 1, isHalved: true, isKept: true },
  { name: "pipelined", clients: 2, pipelined: 3, isHalved: false, isKept: true },
];
/** Of the pause between the halves of a body, ms. */
const HALF_MS = 15;

export class Clients {
  readonly fates: Fates = { byStatus: new Map(), unanswered: [], resetUnheard: 0 };
  readonly #port: number;
  readonly #messages: readonly Uint8Array[];
  readonly #gapMs: number;
  readonly #running: Promise<void>[] = [];
  #isOver = false;
  #sent = 0;

  /** @param messages whole requests. @param gapMs mean pause of a client after an answer. */
  constructor(port: number, messages: readonly Uint8Array[], gapMs: number) {
    this.#port = port;
    this.#messages = messages;
    this.#gapMs = gapMs;
  }

  get sent(): number {
    return this.#sent;
  }

  begin(): void {
    for (const habit of HABITS) {
      for (let client = 0; client < habit.clients; client++) this.#running.push(this.#go(habit));
    }
  }

  /** No more requests; waits for those that are open. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.gone();
  }

  /** Kept when every client has found that nobody listens. */
  async gone(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #go(habit: Habit): Promise<void> {
    try {
      while (!this.#isOver) await this.#talk(habit, await Talk.open(this.#port));
    } catch (error) {
      if (!(error instanceof NotListening)) throw error;
    }
  }

  async #talk(habit: Habit, talk: Talk): Promise<void> {
    while (!this.#isOver && !talk.isOver) {
      const replies = await this.#ask(habit, talk);
      if (replies.length < habit.pipelined || !habit.isKept) break;
      if (replies.some(({ isLast }) => isLast)) break;
      await pause(2 * Math.random() * this.#gapMs);
    }
    talk.close();
    if (!habit.isKept) await pause(2 * Math.random() * this.#gapMs);
  }

  /** @returns the answers, up to the last of the connection. */
  async #ask({ name, pipelined, isHalved }: Habit, talk: Talk): Promise<Reply[]> {
    for (let at = 0; at < pipelined; at++) {
      const message = this.#messages[this.#sent++ % this.#messages.length] ?? new Uint8Array();
      const half = isHalved ? message.length >> 1 : message.length;
      talk.write(message.subarray(0, half));
      if (!isHalved) continue;
      await pause(HALF_MS);
      talk.write(message.subarray(half));
    }
    const replies: Reply[] = [];
    while (replies.length < pipelined) {
      const reply = await talk.reply();
      if (reply === null) {
        // What was pipelined behind the last answer is the client's to send again.
        if (talk.isResetUnheard) this.fates.resetUnheard++;
        else if (replies.at(-1)?.isLast !== true) this.fates.unanswered.push(name);
        break;
      }
      replies.push(reply);
      const { byStatus } = this.fates;
      byStatus.set(reply.status, (byStatus.get(reply.status) ?? 0) + 1);
    }
    return replies;
  }
}

export function fatesText({ byStatus }: Pick<Fates, "byStatus">): string {
  const fates = [...byStatus].sort(([one], [other]) => one - other);
  return fates.map(([status, count]) => `${status}: ${count}`).join(" ");
}
