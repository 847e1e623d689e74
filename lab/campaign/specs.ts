/** Hostile specs and profiles, read as `compile` reads them, with a watch on time and memory. */
import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hostileSpec, samples } from "./hostile-specs.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import type { Reading } from "./spec-reader.ts";

/** Of a processor: the machine may be busy with others. */
const MOST_CPU_MS = 2000;
/** After which whoever does not answer hangs. */
const HANGS_MS = 20_000;
const MOST_BYTES = 2 ** 30;
const READERS = 2;

export const SPECS: Part = {
  name: "specs",
  about: "hostile specs and profiles, read up to the frame",
  unit: "specs",
  sizes: { full: 10_000, short: 300 },
  minutes: 10,
  run: attack,
};

interface Tally {
  next: number;
  refused: number;
  read: number;
  slowestMs: number;
  mostBytes: number;
  readonly lost: string[];
}

async function attack({ size, seed, folder, say }: Attack): Promise<Outcome> {
  const from = samples();
  const tally: Tally = { next: 0, refused: 0, read: 0, slowestMs: 0, mostBytes: 0, lost: [] };
  const work = async (own: string): Promise<void> => {
    mkdirSync(own);
    let reader = startReader();
    while (tally.next < size) {
      const number = tally.next++;
      const spec = hostileSpec(number, seed, from);
      const path = join(own, "app.yaml");
      writeFileSync(path, spec.app);
      for (const [name, text] of Object.entries(spec.beside)) writeFileSync(join(own, name), text);
      const reading = await ask(reader, path);
      if (reading === null) reader = startReader();
      const harm = note(tally, reading);
      if (harm !== null) tally.lost.push(`${spec.name} (number ${number}): ${harm}`);
      if (number % 1000 === 999) say(`${number + 1} of ${size}`);
    }
    reader.kill("SIGKILL");
    rmSync(own, { recursive: true });
  };
  await Promise.all(Array.from({ length: READERS }, (_, index) => work(join(folder, `${index}`))));
  const figures = {
    refused: `${tally.refused}`,
    read: `${tally.read}`,
    slowest: `${Math.round(tally.slowestMs)} ms of processor`,
    most: `${Math.round(tally.mostBytes / 2 ** 20)} MiB`,
  };
  return { tried: size, lost: tally.lost, figures };
}

/** @returns what harm it did; null for none. */
function note(tally: Tally, reading: Reading | null): string | null {
  if (reading === null) return `no answer in ${HANGS_MS} ms, or the process ended`;
  const { kind, message, cpuMs, rssBytes } = reading;
  tally.slowestMs = Math.max(tally.slowestMs, cpuMs);
  tally.mostBytes = Math.max(tally.mostBytes, rssBytes);
  if (kind === "refused") tally.refused++;
  if (kind === "read") tally.read++;
  if (kind === "thrown") return message.slice(0, 500);
  if (cpuMs > MOST_CPU_MS) return `${Math.round(cpuMs)} ms: ${message.slice(0, 200)}`;
  if (rssBytes > MOST_BYTES) return `${rssBytes} bytes of memory: ${message.slice(0, 200)}`;
  const isPlaced = /^[A-Z_]+ \S*(app\.yaml|profile\.json)/.test(message);
  return kind === "refused" && !isPlaced ? `no place: ${message.slice(0, 200)}` : null;
}

function startReader(): ChildProcess {
  return fork(fileURLToPath(new URL("./spec-reader.js", import.meta.url)), [], {
    execArgv: ["--max-old-space-size=2048"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
}

async function ask(reader: ChildProcess, path: string): Promise<Reading | null> {
  return new Promise((resolve) => {
    const settle = (reading: Reading | null): void => {
      clearTimeout(timer);
      reader.off("message", settle);
      reader.off("exit", onExit);
      if (reading === null) reader.kill("SIGKILL");
      resolve(reading);
    };
    const onExit = (): void => settle(null);
    const timer = setTimeout(() => settle(null), HANGS_MS);
    reader.once("message", settle);
    reader.once("exit", onExit);
    reader.send(path);
  });
}
