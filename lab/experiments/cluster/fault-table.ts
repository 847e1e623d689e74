/** What came of every fault: a line as each is over, and the whole as Markdown and as JSON. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Page } from "../harness/page.ts";
import type { FaultOutcome } from "./fault-run.ts";

/** What was played, and how. */
export interface FaultPlay {
  readonly machine: readonly string[];
  readonly topology: string;
  readonly qps: number;
  readonly calmMs: number;
  readonly faultMs: number;
  readonly afterMs: number;
}

/** One of: what came of it, why it was not played, why it did not come to its end. */
export interface FaultEntry {
  readonly name: string;
  readonly outcome?: FaultOutcome;
  readonly leftOut?: string;
  readonly broke?: string;
}

const HEAD = [
  ...["fault", "sent", "answered", "late", "refused", "lost", "doubled", "retries"],
  ...["normal after", "normal after its end"],
];

export class FaultTable {
  readonly #play: FaultPlay;
  readonly #entries: FaultEntry[] = [];
  readonly #startMs = performance.now();

  constructor(play: FaultPlay) {
    this.#play = play;
  }

  /** Says it on stderr, too: a run takes minutes. */
  add(entry: FaultEntry): void {
    this.#entries.push(entry);
    const { name, outcome, leftOut, broke } = entry;
    const what = outcome
      ? rowOf(name, outcome).join(" | ")
      : `${name}: ${leftOut ?? firstLine(broke)}`;
    process.stderr.write(`${clock()} ${what}\n`);
  }

  /** Whether some fault did not come to its end. */
  get hasBroken(): boolean {
    return this.#entries.some(({ broke }) => broke !== undefined);
  }

  print(page: Page): void {
    const played = this.#entries.flatMap(({ name, outcome }) =>
      outcome ? [{ name, outcome }] : [],
    );
    page.table(
      HEAD,
      played.map(({ name, outcome }) => rowOf(name, outcome)),
    );
    for (const { name, leftOut, broke } of this.#entries) {
      if (leftOut !== undefined) page.say(`${name}: left out, ${leftOut}`);
      if (broke !== undefined) page.say(`${name}: did not come to its end, ${firstLine(broke)}`);
    }
    page.say(`${this.#minutes().toFixed(1)} minutes`);
  }

  /** All so far, as `faults.json` and `faults.md`. @param folder made; undefined writes nothing. */
  write(folder: string | undefined): void {
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    const document = { ...this.#play, minutes: this.#minutes(), faults: this.#entries };
    writeFileSync(join(folder, "faults.json"), `${JSON.stringify(document, null, 2)}\n`);
    const lines: string[] = [...this.#play.machine, ""];
    this.print(new Page("markdown", (line) => lines.push(line)));
    writeFileSync(join(folder, "faults.md"), `${lines.join("\n")}\n`);
  }

  #minutes(): number {
    return (performance.now() - this.#startMs) / 60_000;
  }
}

function rowOf(name: string, outcome: FaultOutcome): string[] {
  const { sent, byFate, late, doubled, retries, normalMs, healedMs } = outcome;
  const counts = [sent, byFate.answered, late, byFate.refused, byFate.lost, doubled, retries];
  return [name, ...counts.map(String), seconds(normalMs), seconds(healedMs)];
}

function seconds(valueMs: number | null): string {
  return valueMs === null ? "not before its end" : `${(valueMs / 1000).toFixed(1)} s`;
}

function clock(): string {
  return new Date().toISOString().slice(11, 19);
}

/** What programs have said follows in further lines, which the JSON has. */
function firstLine(text = ""): string {
  return text.split("\n")[0] ?? "";
}
