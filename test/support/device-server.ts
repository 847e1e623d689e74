/** A server as its operator starts it, on the device that a test names or its bundle does. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { startStratagem, urlOf } from "./run-cli.ts";

export interface DeviceServer {
  readonly url: string;
  /** What it has written on standard error by now. */
  told(): string;
  /** Process ids of its workers: it starts others too, such as what asks accelerators. */
  workers(): number[];
  /** The sum of a metric over its labels; 0 where it is not told. */
  metric(name: string): Promise<number>;
  /** The samples of a metric, with their labels. */
  samples(name: string): Promise<Sample[]>;
  /** Has it read its bundle again. */
  reload(): void;
  close(): Promise<void>;
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Kept once it answers. @param device null for what the bundle says. @param more arguments of
 * `serve`.
 */
export async function serveOn(
  device: string | null,
  bundle: string,
  models: string,
  ...more: string[]
): Promise<DeviceServer> {
  const where = ["--policy", bundle, "--models", models, "--http", "127.0.0.1:0", "--json"];
  const on = device === null ? [] : ["--device", device];
  const child = startStratagem("serve", ...where, ...on, "--no-means-check", ...more);
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const ended = once(child, "exit");
  const failed = ended.then(([status]) => {
    throw new Error(`serve ended with ${status}: ${text}`);
  });
  failed.catch(() => {});
  const url = await Promise.race([urlOf(child), failed]);
  const samples = async (name: string): Promise<Sample[]> => {
    const lines = (await (await fetch(`${url}/metrics`)).text()).split("\n");
    return lines
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      .map((line) => {
        const labels = Array.from(line.matchAll(/(\w+)="([^"]*)"/g), ([, key, value]) => [
          key,
          value,
        ]);
        return { labels: Object.fromEntries(labels), value: Number(line.split(" ").at(-1)) };
      });
  };
  return {
    url,
    told: () => text,
    workers: () => {
      const path = `/proc/${child.pid}/task/${child.pid}/children`;
      const pids = readFileSync(path, "utf8").split(" ").filter(Boolean).map(Number);
      return pids.filter((pid) => readOf(pid, "cmdline").includes("exec/process/worker.js"));
    },
    metric: async (name) => (await samples(name)).reduce((sum, { value }) => sum + value, 0),
    samples,
    reload: () => child.kill("SIGHUP"),
    close: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** What the system tells of a process; empty for one that has ended. */
export function readOf(pid: number, file: "cmdline" | "environ" | "maps"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

export interface Answer {
  readonly status: number;
  readonly error?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly outputs?: readonly {
    readonly name: string;
    readonly shape: readonly number[];
    readonly data: readonly number[];
  }[];
}

export interface SentInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** What a model answers to one request, in JSON. */
export async function ask(
  url: string,
  model: string,
  inputs: readonly SentInput[],
  parameters: object = {},
): Promise<Answer> {
  const body = JSON.stringify({ inputs, parameters });
  const reply = await fetch(`${url}/v2/models/${model}/infer`, { method: "POST", body });
  return { status: reply.status, ...((await reply.json()) as object) };
}

/** The largest difference of two answers; NaN where one lacks a number, or has other outputs. */
export function answersApart(one: Answer, other: Answer): number {
  const [from, to] = [one.outputs ?? [], other.outputs ?? []];
  if (from.length === 0 || from.length !== to.length) return Number.NaN;
  return from.reduce((largest, { name, shape, data }, at) => {
    const found = to[at];
    if (found?.name !== name || found.shape.join() !== shape.join()) return Number.NaN;
    const apart = data.map((value, place) => Math.abs(value - (found.data[place] ?? Number.NaN)));
    return Math.max(largest, ...apart);
  }, 0);
}
