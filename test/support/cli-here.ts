/**
 * The built commands in this process: the files that ship, without what a process takes to start.
 * Signals, and whether a command ends, are for those of `run-cli.ts`.
 */
import type { EventEmitter } from "node:events";
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CliRun } from "./run-cli.ts";

const importNatively: (url: string) => Promise<unknown> = createRequire(import.meta.url)(
  "./native-import.cjs",
);
/** Makes each run an evaluation of its own of the command's file, though of no other. */
let runs = 0;

/** Runs the built `stratagem` in this process. */
export function stratagemHere(...args: string[]): Promise<CliRun> {
  return runHere("compiler/dist/cli.js", args);
}

/** Runs the built `stratagem` in this process, in another folder. */
export function stratagemHereIn(folder: string, ...args: string[]): Promise<CliRun> {
  return runHere("compiler/dist/cli.js", args, folder);
}

/** Runs the built `stratagem-runtime` in this process. */
export function stratagemRuntimeHere(...args: string[]): Promise<CliRun> {
  return runHere("runtime/dist/cli.js", args);
}

/** The run before: one at a time, since a process has one output. */
let before: Promise<unknown> = Promise.resolve();

/** @param script a built command. @param folder where it runs. */
export function runHere(
  script: string,
  args: readonly string[],
  folder = process.cwd(),
): Promise<CliRun> {
  const run = before.then(() => runAlone(resolve(script), args, folder));
  before = run.catch(() => {});
  return run;
}

async function runAlone(path: string, args: readonly string[], folder: string): Promise<CliRun> {
  const { argv, exitCode } = process;
  const home = process.cwd();
  const forget = LISTENED.map(([emitter, event]) => newListeners(emitter, event));
  const stdout = capture(process.stdout);
  const stderr = capture(process.stderr);
  process.chdir(folder);
  process.argv = [process.execPath, path, ...args];
  process.exitCode = undefined;
  // Node 20 follows no link of a package right after a pipe was looked at (`realpathSync` reads the
  // file type that the last stat has left), and would load modules twice.
  statSync(".");
  try {
    await importNatively(`${pathToFileURL(path).href}?run=${runs++}`);
    const status = Number(process.exitCode ?? 0);
    return { status, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    stdout.release();
    stderr.release();
    process.chdir(home);
    process.argv = argv;
    process.exitCode = exitCode;
    for (const forgetOne of forget) forgetOne();
  }
}

/** What commands listen to until their process ends. */
const LISTENED: readonly (readonly [EventEmitter, string])[] = [
  [process.stdout, "error"],
  [process, "SIGINT"],
  [process, "SIGTERM"],
  [process, "SIGHUP"],
];

/** @returns what takes off the listeners that have come since. */
function newListeners(emitter: EventEmitter, event: string): () => void {
  const before = new Set(emitter.rawListeners(event));
  return () => {
    for (const listener of emitter.rawListeners(event)) {
      if (!before.has(listener)) emitter.off(event, listener as () => void);
    }
  };
}

/** Keeps what is written to a stream from it. */
function capture(stream: NodeJS.WriteStream): { text(): string; release(): void } {
  const { write } = stream;
  let text = "";
  stream.write = (chunk: string | Uint8Array) => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    return true;
  };
  return {
    text: () => text,
    release() {
      stream.write = write;
    },
  };
}
