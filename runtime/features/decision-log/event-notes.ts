/** Records the events and outputs of an application's core, for a log that can be replayed. */

import type { RecordedEntry } from "../../server/requests/recorded-entry.ts";
import { lineText } from "./log-lines.ts";

/** Characters of a line, not counting its last entry: readers have a limit. */
const LINE = 2 ** 18;

/** Fields of the bundle in force, logged when another bundle begins to decide. */
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
  /** Time at which a new bundle began to decide; its digest is known only afterwards. */
  #policyMs: number | undefined;

  /** @param core number of the core, as in its opening line. */
  constructor(application: string, core: number, inForce: () => InForce) {
    const head = { kind: "events", application, core };
    this.#head = JSON.stringify(head).slice(0, -1);
    this.#inForce = inForce;
  }

  get waiting(): number {
    return this.#length;
  }

  onEntry(entry: RecordedEntry): void {
    this.#notePolicy();
    if (entry.bundle === undefined) this.#note(entry);
    else this.#policyMs = entry.nowMs ?? Number.NaN;
  }

  /** Returns lines of the entries since the last call. */
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
