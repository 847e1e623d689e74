/**
 * Servers that are short of descriptors, whose clients take all that they get, while their workers
 * are killed; and first starts whose source is down.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CLI } from "../experiments/harness/cli.ts";
import type { Attack, Outcome, Part } from "./part.ts";

const POLICY = "policies/letters/bundle.msgpack";
const MODELS = "models/image-classification";
/** Fewer than a server of one worker and its standby needs. */
const TOO_FEW = [32, 64, 128, 180];
/** Descriptors of a server beyond the least that it needs. */
const ENOUGH = 210;
const CLIENTS = 300;
/** Longest time until the workers are replaced. */
const HEALED_MS = 60_000;

interface Told {
  readonly code: number | null;
  readonly stderr: string;
}

export const SHORTAGES: Part = {
  name: "shortages",
  about: "too few descriptors, more clients than descriptors while workers are killed, no source",
  unit: "floods",
  sizes: { full: 20, short: 1 },
  minutes: 5,
  run,
};

async function run({ size, folder, say }: Attack): Promise<Outcome> {
  const lost: string[] = [];
  for (const limit of TOO_FEW) {
    const { code, stderr } = await told(limited(limit));
    if (code !== 65 || !stderr.startsWith("RUNTIME_MEANS ")) {
      lost.push(`a limit of ${limit}: ${code} ${stderr.slice(0, 200)}`);
    }
  }
  const store = ["--store", join(folder, "store"), "--http", "127.0.0.1:0"];
  const away = await told(serve(["--policy", "http://127.0.0.1:9/b.msgpack", ...store]));
  if (away.code !== 65 || !away.stderr.startsWith("RUNTIME_SOURCE ")) {
    lost.push(`no source: ${away.code} ${away.stderr.slice(0, 200)}`);
  }
  const counts = new Map<string, number>();
  for (let flood = 0; flood < size; flood++) {
    const reason = await flooded(counts).catch((error: unknown) => String(error));
    if (reason !== null) lost.push(`flood ${flood}: ${reason}`);
    say(`flood ${flood}: ${reason ?? "survived"}`);
  }
  const figures = Object.fromEntries([...counts].map(([what, count]) => [what, String(count)]));
  return { tried: TOO_FEW.length + 1 + size, lost, figures };
}

/** @returns what was lost, or null. @param counts answers of all clients. */
async function flooded(counts: Map<string, number>): Promise<string | null> {
  const child = limited(ENOUGH, "--json");
  const clients: Socket[] = [];
  try {
    const port = await portOf(child);
    const ready = () => answerOf(port, "/v2/health/ready").catch(() => "no connection");
    await until(async () => (await ready()) === "200");
    const before = workersOf(child);
    for (let client = 0; client < CLIENTS; client++) {
      const answer = await answerOf(port, "/v2/health/live", clients);
      counts.set(answer, (counts.get(answer) ?? 0) + 1);
    }
    for (const pid of before) process.kill(pid, "SIGKILL");
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
      return workersOf(child).filter((pid) => !before.includes(pid)).length === before.length;
    });
    for (const socket of clients) socket.destroy();
    await until(async () => (await ready()) === "200");
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    return code === 0 ? null : `it ended with ${code}`;
  } finally {
    for (const socket of clients) socket.destroy();
    if (child.exitCode === null) child.kill("SIGKILL");
  }
}

function serve(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [CLI, "serve", ...args], { stdio: ["ignore", "ignore", "pipe"] });
}

function limited(limit: number, ...args: readonly string[]): ChildProcess {
  const own = ["--policy", POLICY, "--models", MODELS, "--accept-other-hardware"];
  const command = [process.execPath, CLI, "serve", ...own, "--http", "127.0.0.1:0", ...args];
  const script = 'ulimit -n "$0"; exec "$@"';
  return spawn("/bin/sh", ["-c", script, String(limit), ...command], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function told(child: ChildProcess): Promise<Told> {
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk;
  });
  child.stdout?.resume();
  const [code]: (number | null)[] = await once(child, "close");
  return { code: code ?? null, stderr };
}

async function portOf({ stdout, stderr }: ChildProcess): Promise<number> {
  stderr?.resume();
  let text = "";
  for await (const chunk of stdout ?? []) {
    text += chunk;
    const port = /"url": "http:\/\/127\.0\.0\.1:(\d+)"/.exec(text)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error("it ended before it listened");
}

function workersOf({ pid }: ChildProcess): number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const texts = threads.map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"),
  );
  return texts.join(" ").trim().split(/\s+/).filter(Boolean).map(Number);
}

/** @param kept takes the connection, which is closed otherwise. @returns the status or "closed". */
async function answerOf(port: number, path: string, kept?: Socket[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const answer = await new Promise<string>((resolve) => {
    socket.once("data", (data: Buffer) => resolve(data.toString("latin1").split(" ")[1] ?? ""));
    socket.once("close", () => resolve("closed"));
    socket.on("error", () => resolve("closed"));
    socket.write(`GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`);
  });
  if (kept === undefined) socket.destroy();
  else kept.push(socket);
  return answer;
}

/** @throws Error if it does not hold in time. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const startMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - startMs > HEALED_MS) throw new Error("it did not recover in a minute");
    await pause(100);
  }
}
