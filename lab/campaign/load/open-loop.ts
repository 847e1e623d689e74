/**
 * Open-loop load over plain sockets: every request leaves when it is due, on a connection of its
 * own that is kept for the next, and nothing is read of an answer but its status and length.
 */
import { connect, type Socket } from "node:net";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { PhaseTally } from "./phase-tally.ts";
import type { LoadOrder, PhaseReport } from "./report.ts";

/** After the last phase, how long answers are waited for. */
const LINGER_MS = 15_000;
const HEAD_END = "\r\n\r\n";
/** What arrives is looked at before the next read, so that all connections share it. */
const SCRATCH = Buffer.allocUnsafe(1 << 16);

interface Link {
  readonly socket: Socket;
  isOpen: boolean;
  tally: PhaseTally | undefined;
  sentMs: number;
  window: number;
  status: number;
  /** Bytes of the answer that are missing; −1 before its head is whole. */
  missing: number;
  head: string;
}

/** Sends all phases and waits for what is on its way. */
export function sendLoad(order: LoadOrder): Promise<PhaseReport[]> {
  return new Promise((resolve) => new OpenLoop(order, resolve).step());
}

class OpenLoop {
  readonly #order: LoadOrder;
  readonly #finish: (reports: PhaseReport[]) => void;
  readonly #messages: readonly Buffer[];
  readonly #rng: Rng;
  readonly #idle: Link[] = [];
  readonly #links = new Set<Link>();
  readonly #tallies: readonly PhaseTally[];
  /** Of each phase. */
  readonly #endsMs: readonly number[];
  #phase = 0;
  #dueMs: number;
  #sent = 0;
  #inFlight = 0;

  constructor(order: LoadOrder, finish: (reports: PhaseReport[]) => void) {
    this.#order = order;
    this.#finish = finish;
    this.#messages = order.messages.map((bytes) => Buffer.from(bytes));
    this.#rng = new Rng(order.seed, 0);
    const startMs = performance.now();
    let endMs = startMs;
    const ends: number[] = [];
    this.#tallies = order.phases.map((phase) => {
      const tally = new PhaseTally(phase, endMs, order.sloMs);
      endMs += 1000 * phase.seconds;
      ends.push(endMs);
      return tally;
    });
    this.#endsMs = ends;
    this.#dueMs = startMs;
    this.#next();
  }

  /** Sends all that is due; comes back at once while more is due soon. */
  step(): void {
    const nowMs = performance.now();
    while (this.#phase < this.#endsMs.length && this.#dueMs <= nowMs) {
      if (!this.#send(nowMs)) break;
      this.#next();
    }
    if (this.#phase === this.#endsMs.length) this.#close();
    else if (this.#dueMs - nowMs > 2) setTimeout(() => this.step(), 1);
    else setImmediate(() => this.step());
  }

  /** Draws when the next request is due. */
  #next(): void {
    const { phases } = this.#order;
    while (this.#phase < phases.length) {
      const endMs = this.#endsMs[this.#phase] ?? Number.NaN;
      const { qps } = phases[this.#phase] ?? { qps: Number.NaN };
      const dueMs = this.#dueMs - (1000 / qps) * Math.log(1 - this.#rng.nextFloat());
      if (dueMs < endMs) {
        this.#dueMs = dueMs;
        this.#tallies[this.#phase]?.onDue();
        return;
      }
      this.#dueMs = endMs;
      this.#phase++;
    }
  }

  /** @returns whether what is due was sent, or is over: its phase has ended meanwhile. */
  #send(nowMs: number): boolean {
    const message = this.#messages[this.#sent % this.#messages.length];
    const tally = this.#tallies[this.#phase];
    if (nowMs > (this.#endsMs[this.#phase] ?? 0)) return true;
    const link = this.#idle.pop() ?? this.#open();
    if (link === undefined || message === undefined || tally === undefined) return false;
    link.missing = -1;
    link.tally = tally;
    link.sentMs = performance.now();
    link.window = tally.onSent(this.#dueMs, link.sentMs);
    this.#sent++;
    this.#inFlight++;
    link.socket.write(message);
    return true;
  }

  #open(): Link | undefined {
    if (this.#links.size >= this.#order.connections) return undefined;
    const socket = connect({
      port: this.#order.port,
      host: "127.0.0.1",
      noDelay: true,
      onread: {
        buffer: () => SCRATCH,
        callback: (bytes: number) => {
          this.#onRead(link, bytes);
          return true;
        },
      },
    });
    const link: Link = {
      socket,
      isOpen: true,
      tally: undefined,
      sentMs: Number.NaN,
      window: 0,
      status: 0,
      missing: -1,
      head: "",
    };
    this.#links.add(link);
    socket.on("error", () => {});
    socket.on("close", () => {
      link.isOpen = false;
      this.#links.delete(link);
      const at = this.#idle.indexOf(link);
      if (at >= 0) this.#idle.splice(at, 1);
      if (link.tally === undefined) return;
      link.tally.onFate("lost", link.window, false);
      link.tally = undefined;
      this.#inFlight--;
    });
    return link;
  }

  #onRead(link: Link, bytes: number): void {
    if (link.missing < 0) {
      const text = link.head + SCRATCH.toString("latin1", 0, bytes);
      const end = text.indexOf(HEAD_END);
      if (end < 0) {
        link.head = text;
        return;
      }
      link.head = "";
      const head = text.slice(0, end + HEAD_END.length);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      link.status = Number(head.slice(9, 12));
      link.missing = head.length + length - text.length;
      if (link.status >= 400) link.tally?.onReason(link.status, text.slice(head.length));
      // The server ends a connection of which it says so.
      if (/\r\nconnection: close/i.test(head)) link.isOpen = false;
    } else link.missing -= bytes;
    if (link.missing <= 0) this.#onAnswer(link);
  }

  #onAnswer(link: Link): void {
    const latencyMs = performance.now() - link.sentMs;
    link.tally?.onAnswer(link.status, latencyMs, link.window);
    link.tally = undefined;
    this.#inFlight--;
    if (link.isOpen) this.#idle.push(link);
    else link.socket.end();
  }

  #close(): void {
    const lastMs = performance.now() + LINGER_MS;
    const wait = setInterval(() => {
      if (this.#inFlight > 0 && performance.now() < lastMs) return;
      clearInterval(wait);
      for (const { tally, window } of this.#links) tally?.onFate("unanswered", window, false);
      const reports = this.#tallies.map((tally) => tally.report());
      for (const link of this.#links) {
        link.tally = undefined;
        link.socket.destroy();
      }
      this.#finish(reports);
    }, 5);
  }
}
