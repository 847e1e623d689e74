/** Notes what the core of an application is told and says, for a log that can be replayed. */

import type { RecordedEntry } from "../../server/requests/recorded-entry.ts";
import { lineText } from "./log-lines.ts";

/** Characters of a line, but for its last entry: readers have a limit. */
const LINE = 2 ** 18;

/** What of the bundle in force a log says where another begins to decide. */
interface InForce {
  readonly revision: string;
  readonly levelCount: number;
}

export class EventNotes {
  readonly #head: string;
  readonly #inForce: () => InForce;
  #entries: string[] = [];
  #length = 0;
  #lines: string[] = [];
  /** A bundle that begins to decide: which it is is known once it does. */
  #policyMs: number | undefined;

  /** @param core as its first line names it. */
  constructor(application: string, core: number, inForce: () => InForce) {
    const head = { kind: "events", application, core };
    this.#head = JSON.stringify(head).slice(0, -1);
    this.#inForce = inForce;
  }

  /** Characters that wait to be taken. */
  get waiting(): number {
    return this.#length;
  }

  onEntry(entry: RecordedEntry): void {
    this.#notePolicy();
    if (entry.bundle === undefined) this.#note(entry);
    else this.#policyMs = entry.nowMs ?? Number.NaN;
  }

  /** Lines of what was noted since the last time. */
  take(): string[] {
    this.#notePolicy();
    this.#endLine();
    const lines = this.#lines;
    this.#lines = [];
    this.#length = 0;
    return lines;
  }

  #notePolicy(): void {
    if (this.#policyMs === undefined) return;
    const nowMs = this.#policyMs;
    this.#policyMs = undefined;
    this.#note({ kind: "policy", nowMs, ...this.#inForce() });
  }

  #note(entry: object): void {
    const text = lineText(entry);
    this.#entries.push(text);
    this.#length += text.length;
    if (this.#length > LINE * (this.#lines.length + 1)) this.#endLine();
  }

  #endLine(): void {
    if (this.#entries.length === 0) return;
    this.#lines.push(`${this.#head},"entries":[${this.#entries.join(",")}]}`);
    this.#entries = [];
  }
}
