/** The server that wires are tried on: the letters of this repository, on real workers. */
import { readdirSync } from "node:fs";
import { type Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { type LiveServer, startServe } from "../../experiments/harness/live.ts";
import type { Target } from "./malformed-run.ts";

export const MODEL = "letters";
const PIXELS = 4096;
/** How long connections may take to be gone, and how often it is looked. */
const GONE_MS = 20_000;
const LOOK_MS = 100;

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
  const deadlineMs = performance.now() + GONE_MS;
  for (;;) {
    const { text } = await asked(`${url}/metrics`);
    const open = Number(/^stratagem_connections\{protocol="http"\} (\d+)$/m.exec(text)?.[1]);
    if (open === 1) return;
    if (performance.now() > deadlineMs) throw new Error(`${open} connections are still open`);
    await pause(LOOK_MS);
  }
}

interface Asked {
  readonly status: number;
  readonly text: string;
}

/** @param agent whose connections are used; left out for one that ends with the answer. */
export function asked(url: string, body?: string, agent: Agent | false = false): Promise<Asked> {
  const method = body === undefined ? "GET" : "POST";
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
