/** Agents as they ship, whose models run in compiled processes, and a raw client of theirs. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, AgentOptions } from "../../../runtime/agent/agent.ts";
import type { Peers } from "../../../runtime/agent/value-source.ts";
import { defaultDevice } from "../../../runtime/exec/models/worker-device.ts";
import { identityModel } from "../../support/onnx-model.ts";

type AgentModule = typeof import("../../../runtime/agent/agent.ts");

const AGENT_URL = new URL("../../../runtime/dist/agent/agent.js", import.meta.url).href;
const { startAgent }: AgentModule = await import(AGENT_URL);

export const WIDTH = 4;

/** A folder with models of these names, which give back what they get. */
export function modelFolder(...names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-agent-"));
  for (const name of names) writeFileSync(join(folder, `${name}.onnx`), identityModel(WIDTH));
  return folder;
}

export interface TestedAgent extends Agent {
  /** Notices to the operator. */
  readonly notices: string[];
  readonly client: AgentClient;
}

/** Allows all workers, which are of this machine. */
export const HERE: Peers = { includes: () => true, readToken: () => Promise.resolve(null) };

/** Kept once its models are there. */
export async function agentWith(options: Partial<AgentOptions>): Promise<TestedAgent> {
  const notices: string[] = [];
  const agent = await startAgent({
    host: "127.0.0.1",
    port: 0,
    name: "w1",
    pool: null,
    models: modelFolder("m"),
    load: null,
    device: defaultDevice("cpu"),
    threads: 1,
    standby: 0,
    memoryBytes: null,
    cpuFallback: "allow",
    maxBodyBytes: 2 ** 24,
    maxValueBytes: 2 ** 20,
    peers: HERE,
    access: {},
    onNotice: (message) => notices.push(message),
    nowMs: () => performance.now(),
    epochOffsetMs: performance.timeOrigin,
    ...options,
  });
  await agent.started;
  return { ...agent, notices, client: new AgentClient(agent.url) };
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** What is said as JSON, also before tensors. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was said.
  readonly json: any;
  /** What is behind it. */
  readonly binary: Uint8Array;
}

/** An input that a worker keeps. */
export interface KeptInput {
  readonly key: string;
  /** URL of the worker; left out for the one that is asked. */
  readonly source?: string;
  readonly rows: number;
}

export interface AskedBatch {
  readonly id?: string;
  readonly rows?: readonly number[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class AgentClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return replyOf(await fetch(`${this.#url}${path}`, { headers }));
  }

  async post(
    path: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    const request = { method: "POST", body: JSON.stringify(body), headers };
    return replyOf(await fetch(`${this.#url}${path}`, request));
  }

  load(model: string, parameters: object = {}, headers = {}): Promise<Reply> {
    return this.post(`/v2/repository/models/${model}/load`, { parameters }, headers);
  }

  unload(model: string): Promise<Reply> {
    return this.post(`/v2/repository/models/${model}/unload`, {});
  }

  /** Sends rows of WIDTH numbers as bytes, in one request. */
  async infer(
    model: string,
    { id, rows = [1, 2, 3, 4], headers = {}, signal }: AskedBatch,
  ): Promise<Reply> {
    const data = Float32Array.from(rows);
    const input = {
      name: "x",
      datatype: "FP32",
      shape: [rows.length / WIDTH, WIDTH],
      parameters: { binary_data_size: data.byteLength },
    };
    const parameters = { binary_data_output: true };
    const json = Buffer.from(JSON.stringify({ id, inputs: [input], parameters }));
    const response = await fetch(`${this.#url}/v2/models/${model}/infer`, {
      method: "POST",
      body: Buffer.concat([json, Buffer.from(data.buffer)]),
      headers: { ...headers, "inference-header-content-length": String(json.length) },
      ...(signal === undefined ? {} : { signal }),
    });
    return replyOf(response);
  }

  /** Sends rows, or takes those that are kept, and has what comes of them kept as well. */
  async keep(
    model: string,
    from: readonly number[] | KeptInput,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    const isHere = !("key" in from);
    const rows = isHere ? from.length / WIDTH : from.rows;
    const parameters = isHere
      ? undefined
      : { stratagem_value: from.key, stratagem_source: from.source };
    const data = isHere ? from : undefined;
    const input = { name: "x", datatype: "FP32", shape: [rows, WIDTH], data, parameters };
    const outputs = [{ name: "y", parameters: { stratagem_keep: true } }];
    return this.post(`/v2/models/${model}/infer`, { inputs: [input], outputs }, headers);
  }

  /** Waits until a metric without labels has a value. */
  async untilMetric(name: string, value: number): Promise<void> {
    for (;;) {
      const text = await (await fetch(`${this.#url}/metrics`)).text();
      if (text.split("\n").includes(`${name} ${value}`)) return;
    }
  }

  /** Waits until a model answers, or does not any more. */
  async untilReady(model: string, isReady: boolean): Promise<void> {
    for (;;) {
      const { json } = await this.get(`/v2/models/${model}/ready`);
      if (json.ready === isReady) return;
    }
  }
}

async function replyOf(response: Response): Promise<Reply> {
  const body = new Uint8Array(await response.arrayBuffer());
  const { status, headers } = response;
  const jsonLength = Number(headers.get("inference-header-content-length") ?? body.length);
  const text = Buffer.from(body.subarray(0, jsonLength)).toString();
  const isJson = headers.get("content-type") !== "text/plain; version=0.0.4; charset=utf-8";
  return {
    status,
    headers,
    json: isJson ? JSON.parse(text) : text,
    binary: body.slice(jsonLength),
  };
}
