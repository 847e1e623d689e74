/** The server that wires are tried on: the letters of this repository, on real workers. */
import { readdirSync } from "node:fs";
import { type LiveServer, startServe } from "../../harness/live.ts";
import { metricsOf } from "../../harness/metrics.ts";
import type { Target } from "./malformed-run.ts";

export const MODEL = "letters";
const PIXELS = 4096;

/** An inference request that the server answers. */
export const INFER_BODY = JSON.stringify({
  inputs: [
    { name: "pixels", datatype: "UINT8", shape: [1, PIXELS], data: new Array(PIXELS).fill(1) },
  ],
});

export function startLetters(): Promise<LiveServer> {
  const models = ["--models", "models/image-classification"];
  return startServe("policies/letters/bundle.msgpack", models, { isQuiet: true });
}

export function targetOf({ url }: Pick<LiveServer, "url">): Target {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
}

/** Descriptors that a process has open. */
export function descriptorCount(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Waits until nothing but the connection that asks is open. @throws Error if some stay. */
export async function connectionsGone(url: string): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    const open = (await metricsOf(url)).get("stratagem_connections") ?? Number.NaN;
    // That of the process that asks is kept for the next time.
    if (open <= 1) return;
    if (performance.now() > deadlineMs) throw new Error(`${open} connections are still open`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
