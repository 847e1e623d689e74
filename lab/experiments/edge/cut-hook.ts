/**
 * Loaded into a server before all else, by `--import`: cuts its power at one step of an update. A
 * step is a change of the disk below the folders of the server, a request for content, a worker
 * that starts, or a report to the fleet; each is told by name in a file before it is done, and the
 * chosen one is done by half where it can be.
 */
import childProcess from "node:child_process";
import { appendFileSync, readFileSync, writeSync } from "node:fs";
import promises, { type FileHandle } from "node:fs/promises";
import http from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { CUT_FOLDERS, CUT_PLAN, STEPS_TOLD } from "./cut-plan.ts";
import { StepNames } from "./step-names.ts";

const PLAN = process.env[CUT_PLAN] ?? "";
const FOLDERS = (process.env[CUT_FOLDERS] ?? "").split(":");
/** A worker needs longer to start here. */
const WARMING_MS = 150;
let names = new StepNames(FOLDERS);
const seen = new Set<string>();
/** The step to cut the power at, an empty text for none; null while no plan is laid. */
let chosen: string | null = null;

/** A plan is laid for one update: what the server does before and after is none of it. */
function isArmed(): boolean {
  try {
    chosen = readFileSync(PLAN, "utf8");
    return true;
  } catch {
    if (chosen === null) return false;
    chosen = null;
    seen.clear();
    names = new StepNames(FOLDERS);
    return false;
  }
}

/** The server and its workers end here, and nothing is done after. */
function cut(): never {
  process.kill(-process.pid, "SIGKILL");
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** @param nameOf null for what is no step. @returns whether it is the one to cut the power at. */
function isChosen(nameOf: () => string | null): boolean {
  if (!isArmed()) return false;
  const name = nameOf();
  if (name === null || seen.has(name)) return false;
  seen.add(name);
  appendFileSync(`${PLAN}${STEPS_TOLD}`, `${name}\n`);
  return name === chosen;
}

function step(nameOf: () => string | null): void {
  if (isChosen(nameOf)) cut();
}

const { mkdir, open, rename, link, rm } = promises;

/** What is written to a file, by half where the power is cut. */
function watched(file: FileHandle, path: string): FileHandle {
  const { write, writeFile } = file;
  const half = (bytes: Uint8Array, position: number | null): void => {
    if (!isChosen(() => names.change("writes", path))) return;
    writeSync(file.fd, bytes, 0, bytes.length >> 1, position);
    cut();
  };
  const pieces = (...args: Parameters<typeof write>) => {
    const [bytes, from, length, position] = args as unknown as [Uint8Array, number, number, number];
    half(bytes.subarray(from, from + length), position);
    return write.apply(file, args);
  };
  const whole = (...args: Parameters<typeof writeFile>) => {
    const [content] = args;
    half(typeof content === "string" ? Buffer.from(content) : (content as Uint8Array), null);
    return writeFile.apply(file, args);
  };
  return Object.assign(file, { write: pieces, writeFile: whole });
}

Object.assign(promises, {
  mkdir: (...args: Parameters<typeof mkdir>) => {
    step(() => names.change("makes", String(args[0])));
    return mkdir(...args);
  },
  open: async (...args: Parameters<typeof open>) => {
    const [path, flags = "r"] = args;
    if (flags === "r" || flags === "r+") return open(...args);
    step(() => names.change("creates", String(path)));
    return watched(await open(...args), String(path));
  },
  rename: (...args: Parameters<typeof rename>) => {
    step(() => names.change("puts in place", String(args[1])));
    return rename(...args);
  },
  link: (...args: Parameters<typeof link>) => {
    step(() => names.change("links", String(args[1])));
    return link(...args);
  },
  rm: (...args: Parameters<typeof rm>) => {
    step(() => names.change("removes", String(args[0])));
    return rm(...args);
  },
});

const { request } = http;
Object.assign(http, {
  request: (...args: Parameters<typeof request>) => {
    step(() => names.asked(String(args[0])));
    return request(...args);
  },
});

const { fetch } = globalThis;
globalThis.fetch = (input, init) => {
  if (init?.method === "POST") step(() => "tells the fleet");
  return fetch(input, init);
};

const { spawn } = childProcess;
Object.assign(childProcess, {
  spawn: (...args: Parameters<typeof spawn>) => {
    step(() => "starts a worker");
    const child = spawn(...args);
    if (isChosen(() => "warms a worker")) setTimeout(cut, WARMING_MS);
    return child;
  },
});

syncBuiltinESMExports();
