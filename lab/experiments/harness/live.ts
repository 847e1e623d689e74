/**
 * Live runs: servers in processes of their own that say where they listen, until they are stopped.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpus, loadavg } from "node:os";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { CLI } from "./cli.ts";

export interface LiveServer {
  readonly url: string;
  /** HOST:PORT; empty where it has no gRPC. */
  readonly grpcUrl: string;
  readonly pid: number;
  /** Zero of the server's own clock, ms of the epoch; NaN where it does not say. */
  readonly originMs: number;
  /** By SIGTERM. @returns its exit code, null where a signal ended it. */
  stop(): Promise<number | null>;
}

interface ServerOptions {
  /** For whatever else it tells, from its first line to its last. */
  readonly onTold?: (told: unknown) => void;
  /** Whether what it says on standard error is seen at once, or only if it fails. */
  readonly isQuiet?: boolean;
  /** Put before the command, such as `taskset` with its arguments. */
  readonly prefix?: readonly string[];
  /** Added to its environment. */
  readonly env?: NodeJS.ProcessEnv;
}

/** The machine, and how busy it is. */
export function machineLines(): string[] {
  return [
    `${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}`,
    `load average before: ${loadavg()[0]?.toFixed(2)}`,
  ];
}

/** `stratagem serve` on a free port. */
export function startServe(
  policy: string,
  args: readonly string[],
  options: ServerOptions = {},
): Promise<LiveServer> {
  const serve = ["serve", "--policy", policy, ...args, "--http", "127.0.0.1:0", "--json"];
  return startServer([CLI, ...serve], options);
}

/**
 * Starts a program of ours and waits until it listens. It tells JSON documents, each on a line or
 * beginning and ending with a line that is a brace; the one with a `url` says that it listens.
 * @throws Error if it ends before.
 */
export async function startServer(
  args: readonly string[],
  { onTold = () => {}, isQuiet = false, prefix = [], env = {} }: ServerOptions = {},
): Promise<LiveServer> {
  const [program = "", ...rest] = [...prefix, process.execPath, ...args];
  const child = spawn(program, rest, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const exited = once(child, "exit");
  const notices: Buffer[] = [];
  if (isQuiet) child.stderr.on("data", (chunk: Buffer) => notices.push(chunk));
  else child.stderr.pipe(process.stderr);
  const ended = exited.then(([code]: (number | null)[]) => {
    if (code !== 0) process.stderr.write(Buffer.concat(notices));
    return code ?? null;
  });
  const told = await Promise.race([
    listening(child.stdout, onTold),
    ended.then(() => Promise.reject(new Error(`${args.join(" ")}: it ended before it listened`))),
  ]);
  return {
    url: told.url,
    grpcUrl: told.grpcUrl ?? "",
    pid: child.pid ?? 0,
    originMs: told.originMs ?? Number.NaN,
    stop: async () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** Runs something with a server, which is stopped afterwards. */
export async function withServer<T>(
  starting: Promise<LiveServer>,
  use: (server: LiveServer) => Promise<T>,
): Promise<T> {
  const server = await starting;
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

interface Told {
  readonly url: string;
  readonly grpcUrl?: string;
  readonly originMs?: number;
}

function listening(stdout: Readable, onTold: (told: unknown) => void): Promise<Told> {
  const lines = createInterface({ input: stdout });
  return new Promise((resolve) => {
    let document = "";
    lines.on("line", (line) => {
      document += line;
      if (line !== "}" && !(document === line && /^\{.*\}$/.test(line))) return;
      const told: unknown = JSON.parse(document);
      document = "";
      if (isListening(told)) resolve(told);
      else onTold(told);
    });
  });
}

function isListening(told: unknown): told is Told {
  return typeof told === "object" && told !== null && "url" in told;
}

/** A server of a bundle that tells what its dispatcher was told and answered. */
export function startRecorded<Entry>(
  policy: string,
  models: string,
  onEntry: (entry: Entry) => void,
): Promise<LiveServer> {
  const program = fileURLToPath(new URL("./recorded-server.js", import.meta.url));
  return startServer([program, policy, models], { onTold: (told) => onEntry(told as Entry) });
}
