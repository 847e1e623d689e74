/** A server of several processes that accept requests is one server to its clients. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { request } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Authority, HAS_OPENSSL } from "../runtime/server/access/certificates.ts";
import { identityModel } from "../support/onnx-model.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-processes-"));
const policy = join(folder, "bundle.msgpack");
const running: ChildProcess[] = [];

/** Writes an application of one variant that repeats rows, and its bundle. */
function compile(width: number): void {
  const variants = { small: { accuracy: 0.7, latencyMs: { 1: 10 } } };
  const variant = { name: "small", profile: "profile.json#small", model: "model.onnx" };
  const spec = {
    version: 1,
    application: "echo",
    slo: { latency: "5 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "repeat", variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 64 },
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "model.onnx.new"), identityModel(width));
  renameSync(join(folder, "model.onnx.new"), join(folder, "model.onnx"));
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  expect(stratagem("compile", join(folder, "app.json"), "-o", policy).stderr).toBe("");
}

beforeAll(() => compile(3), 60_000);

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function serve(...flags: string[]) {
  const child = startStratagem(
    ...["serve", "--policy", policy, "--http", "127.0.0.1:0", "--json", "--no-means-check"],
    ...["--standby", "0", "--processes", "2", ...flags],
  );
  running.push(child);
  const said = { log: "" };
  child.stderr?.on("data", (chunk) => {
    said.log += String(chunk);
  });
  const url = await urlOf(child);
  return { url, child, said };
}

function echoOf(values: readonly number[], id?: string): string {
  const tensor = { name: "x", datatype: "FP32", shape: [1, values.length], data: values };
  return JSON.stringify({ ...(id === undefined ? {} : { id }), inputs: [tensor] });
}

async function infer(url: string, values: readonly number[], init: RequestInit = {}) {
  const body = echoOf(values);
  const reply = await fetch(`${url}/v2/models/echo/infer`, { method: "POST", body, ...init });
  const told = (await reply.json()) as { outputs?: { data: number[] }[]; error?: string };
  return told.outputs?.[0]?.data ?? told.error;
}

async function sumOf(url: string, series: RegExp): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = text.split("\n").filter((line) => series.test(line));
  return values.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

function acceptorsOf({ pid }: ChildProcess): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => {
      try {
        const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/status`, "utf8"))?.[1];
        return (
          Number(parent) === pid &&
          readFileSync(`/proc/${one}/cmdline`, "utf8").includes("acceptor")
        );
      } catch {
        return false;
      }
    });
}

/** Tries again until it is so; the test's own limit ends it. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

test("what clients ask is answered as one process would, and counted once", async () => {
  const { url, child, said } = await serve("--access-log", join(folder, "access.log"));
  expect(await infer(url, [1, 2, 3])).toEqual([1, 2, 3]);
  const zipped = { body: gzipSync(echoOf([4, 5, 6])), headers: { "content-encoding": "gzip" } };
  expect(await infer(url, [], zipped)).toEqual([4, 5, 6]);
  const many = Array.from({ length: 20 }, (_, at) => infer(url, [at, 0, 0]));
  expect(await Promise.all(many)).toEqual(many.map((_, at) => [at, 0, 0]));
  expect(await infer(url, [1])).toMatch(/^inputs\[0\]\.shape/);
  const model = await (await fetch(`${url}/v2/models/echo`)).json();
  expect(model).toMatchObject({ name: "echo", inputs: [{ name: "x", shape: [-1, 3] }] });
  expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
  const none = await fetch(`${url}/v2/models/none/infer`, { method: "POST", body: "{}" });
  expect(none.status).toBe(404);
  const named = { headers: { "x-request-id": "mine" } };
  const lost = await fetch(`${url}/nowhere`, named);
  expect([lost.status, lost.headers.get("x-request-id")]).toEqual([404, "mine"]);
  expect(await lost.json()).toEqual({ error: "no such path: /nowhere", id: "mine" });
  const late = echoOf([1, 2, 3]).replace(/}$/, ',"parameters":{"timeout":1}}');
  const timely = await fetch(`${url}/v2/models/echo/infer`, { method: "POST", body: late });
  expect(timely.status).toBe(504);

  expect(await sumOf(url, /^nv_inference_request_success/)).toBe(22);
  expect(await sumOf(url, /^stratagem_request_duration_seconds_count/)).toBe(22);
  expect(await sumOf(url, /^stratagem_http_requests_total{code="200"}/)).toBeGreaterThan(23);
  expect(await sumOf(url, /^stratagem_acceptors /)).toBe(2);
  const stats = (await (await fetch(`${url}/v2/models/echo/stats`)).json()) as {
    model_stats: { inference_stats: Record<string, { count: number; ns: number }> }[];
  };
  const { success, fail, queue, compute_input, compute_infer, compute_output } =
    stats.model_stats[0]?.inference_stats ?? {};
  expect([success?.count, fail?.count]).toEqual([22, 2]);
  const parts = [queue, compute_input, compute_infer, compute_output].map((one) => one?.ns ?? -1);
  for (const ns of parts) expect(ns).toBeGreaterThanOrEqual(0);
  const sum = parts.reduce((total, ns) => total + ns, 0);
  expect(sum).toBeLessThanOrEqual(success?.ns ?? 0);
  const page = await fetch(url, { headers: { accept: "text/html" } });
  expect(await page.text()).toContain("<!doctype html>");
  const live = (await (await fetch(`${url}/v2/stratagem/live`)).json()) as {
    applications: { requests: { answered: number } }[];
  };
  expect(live.applications[0]?.requests.answered).toBe(22);

  child.kill("SIGTERM");
  expect(await ended(child)).toBe(0);
  expect(said.log).toBe("stopping: answering what was accepted\n");
  const lines = readFileSync(join(folder, "access.log"), "utf8").trimEnd().split("\n");
  const told = lines.map((line) => JSON.parse(line));
  expect(told.filter(({ model, status }) => model === "echo" && status === 200)).toHaveLength(22);
  expect(told.find(({ requestId }) => requestId === "mine")).toMatchObject({ status: 404 });
  const answered = told.find(({ variant }) => variant === "small");
  expect(answered).toMatchObject({ accuracy: 0.7, batch: 1, level: 0, worker: 0 });
});

test("a process that is killed takes its own requests along, and no others", async () => {
  const { url, child, said } = await serve();
  const port = Number(new URL(url).port);
  const acceptors = acceptorsOf(child);
  const [first = 0] = acceptors;
  const before = acceptors.map(socketsOf);
  const clients: Client[] = [];
  // The kernel deals connections to whoever is awake: until both have some.
  await until(async () => {
    clients.push(await Client.open(port));
    return acceptors.every((pid, at) => socketsOf(pid) > (before[at] ?? 0) + 1);
  });
  let isOver = false;
  const fates = clients.map(async (client) => {
    while (!isOver) if (!(await client.ask(echoOf([1, 2, 3])))) return "cut";
    return "well";
  });
  await until(async () => (await sumOf(url, /^nv_inference_request_success/)) > 100);
  process.kill(first, "SIGKILL");
  await until(async () => (await sumOf(url, /^stratagem_acceptors_lost_total/)) === 1);
  await until(async () => (await sumOf(url, /^stratagem_acceptors /)) === 2);
  isOver = true;
  const told = await Promise.all(fates);
  const cut = told.filter((fate) => fate === "cut").length;
  // Those of the other process have gone on.
  expect(cut).toBeGreaterThan(0);
  expect(cut).toBeLessThan(clients.length);
  // Nothing of them is left waiting.
  await until(async () => (await sumOf(url, /^stratagem_pending_queries/)) === 0);
  expect(await infer(url, [7, 8, 9])).toEqual([7, 8, 9]);
  expect(said.log).toMatch(/a process that accepts requests was lost: signal SIGKILL; another is/);
  for (const client of clients) client.close();
  child.kill("SIGTERM");
  expect(await ended(child)).toBe(0);
});

test("whoever has sent a request is answered, and told that it was the last", async () => {
  const { url, child } = await serve();
  const port = Number(new URL(url).port);
  const clients = await Promise.all(Array.from({ length: 12 }, () => Client.open(port)));
  const fates = clients.map(async (client) => {
    while (!client.isToldEnd) if (!(await client.ask(echoOf([1, 2, 3])))) return "cut";
    return "told";
  });
  await until(async () => (await sumOf(url, /^nv_inference_request_success/)) > 100);
  child.kill("SIGTERM");
  expect(await ended(child)).toBe(0);
  expect(await Promise.all(fates)).toEqual(clients.map(() => "told"));
});

test("it is unready first and still answers; a second signal ends all", async () => {
  const { url, child } = await serve("--drain-delay", "5min");
  const acceptors = acceptorsOf(child);
  child.kill("SIGTERM");
  await until(async () => (await fetch(`${url}/v2/health/ready`)).status === 503);
  expect(await infer(url, [1, 2, 3])).toEqual([1, 2, 3]);
  child.kill("SIGTERM");
  await ended(child);
  expect(child.signalCode).toBe("SIGTERM");
  await until(() => !acceptors.some(isAlive));
});

test("what is traced, and how answers are told, holds in all of them", async () => {
  const receiver = createServer((_request, response) => response.end());
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const { port } = receiver.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  const { url } = await serve(
    "--otlp-endpoint",
    endpoint,
    "--text-parameters",
    "--grpc",
    "127.0.0.1:0",
  );
  // A connection of its own, and so whichever process is awake.
  const seen = async () => {
    const headers = { connection: "close" };
    const body = echoOf([1, 2, 3]);
    const reply = await fetch(`${url}/v2/models/echo/infer`, { method: "POST", body, headers });
    const { parameters } = (await reply.json()) as { parameters: { accuracy: unknown } };
    return JSON.stringify([reply.headers.get("traceparent")?.slice(-2), parameters.accuracy]);
  };
  const manyTimes = async () => {
    return new Set(await Promise.all(Array.from({ length: 24 }, seen)));
  };
  expect(await manyTimes()).toEqual(new Set(['["01","0.7"]']));
  const setting = `${url}/v2/trace/setting`;
  const off = await fetch(setting, { method: "POST", body: '{"trace_level":["OFF"]}' });
  expect(await off.json()).toMatchObject({ trace_level: ["OFF"] });
  await until(async () => !(await manyTimes()).has('["01","0.7"]'));
  expect(await manyTimes()).toEqual(new Set(['["00","0.7"]']));
  receiver.close();
});

test("the process that decides takes all others along", async () => {
  const { child } = await serve();
  const acceptors = acceptorsOf(child);
  expect(acceptors).toHaveLength(2);
  child.kill("SIGKILL");
  await ended(child);
  await until(() => acceptors.every((pid) => !isAlive(pid)));
});

test("another model is followed by all of them, and no request is lost", async () => {
  const { url, child } = await serve();
  let isOver = false;
  const unanswered: string[] = [];
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const reply = await fetch(`${url}/v2/models/echo/infer`, {
        method: "POST",
        body: echoOf([1, 2, 3]),
        headers: { connection: "close" },
      });
      const { outputs, error } = (await reply.json()) as { outputs?: object[]; error?: string };
      // Before, it has three numbers in a row, and four after.
      const isMeant = outputs !== undefined || /shape|busy|no room/.test(error ?? "");
      if (!isMeant) unanswered.push(`${reply.status} ${error}`);
    }
  });
  await until(async () => (await sumOf(url, /^nv_inference_request_success/)) > 20);
  compile(4);
  child.kill("SIGHUP");
  await until(async () => (await sumOf(url, /^stratagem_reloads_total{.*followed/)) === 1);
  isOver = true;
  await Promise.all(load);
  expect(unanswered).toEqual([]);
  const both = Array.from({ length: 8 }, () => {
    return infer(url, [1, 2, 3, 4], { headers: { connection: "close" } });
  });
  expect(await Promise.all(both)).toEqual(both.map(() => [1, 2, 3, 4]));
  const state = await (await fetch(`${url}/admin/state`)).json();
  expect(state).toMatchObject({ ready: true, applications: [{ reload: { isFollowed: true } }] });
  child.kill("SIGTERM");
  expect(await ended(child)).toBe(0);
  compile(3);
});

test.skipIf(!HAS_OPENSSL)("TLS, everywhere (needs openssl)", async () => {
  const authority = new Authority("processes");
  const { cert, key } = authority.issue("server");
  const { url, child } = await serve("--tls-cert", cert, "--tls-key", key);
  expect(url).toMatch(/^https:/);
  const options = { ca: authority.pem, agent: false as const };
  const asked = async (path: string, body?: string) => {
    const method = body === undefined ? "GET" : "POST";
    const asking = request(`${url}${path}`, { ...options, method }).end(body);
    const [reply] = (await once(asking, "response")) as [AsyncIterable<Buffer>];
    let text = "";
    for await (const chunk of reply) text += String(chunk);
    return text;
  };
  const bodies = Array.from({ length: 6 }, (_, at) => echoOf([at, 1, 2]));
  const told = await Promise.all(bodies.map((body) => asked("/v2/models/echo/infer", body)));
  expect(told.map((text) => JSON.parse(text).outputs?.[0]?.data[0])).toEqual([0, 1, 2, 3, 4, 5]);
  const plain = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  plain.end("GET / HTTP/1.1\r\n\r\n").resume();
  await once(plain, "close");
  const failed = /^stratagem_tls_handshakes_failed_total (\d+)/m;
  await until(async () => failed.exec(await asked("/metrics"))?.[1] === "1");
  child.kill("SIGTERM");
  expect(await ended(child)).toBe(0);
  rmSync(authority.folder, { recursive: true });
});

test("tokens are asked for, and refusals are counted, wherever a request comes in", async () => {
  const tokens = join(folder, "tokens");
  const made = stratagem("keygen", "--token", "--name", "ann", "--json").stdout;
  const { token, line } = JSON.parse(made) as { token: string; line: string };
  writeFileSync(tokens, `${line}\n`);
  const { url, child } = await serve("--tokens", tokens);
  const refused = await Promise.all(
    Array.from({ length: 6 }, () => infer(url, [1, 2, 3], { headers: { connection: "close" } })),
  );
  expect(new Set(refused)).toEqual(new Set(["Authorization: expected a bearer token, got none"]));
  const headers = { authorization: `Bearer ${token}` };
  expect(await infer(url, [1, 2, 3], { headers })).toEqual([1, 2, 3]);
  expect((await fetch(`${url}/admin/state`, { headers })).status).toBe(403);
  const admin = JSON.parse(
    stratagem("keygen", "--token", "--name", "eve", "--scopes", "admin,metrics", "--json").stdout,
  ) as { token: string; line: string };
  writeFileSync(tokens, `${line}\n${admin.line}\n`);
  child.kill("SIGHUP");
  const other = { headers: { authorization: `Bearer ${admin.token}` } };
  await until(async () => (await fetch(`${url}/admin/state`, other)).status === 200);
  await until(async () => {
    const state = (await (await fetch(`${url}/admin/state`, other)).json()) as {
      access: { refused: Record<string, number> };
    };
    return state.access.refused["no_token"] === 6;
  });
  child.kill("SIGTERM");
  expect(await ended(child)).toBe(0);
});

test("what cannot be is said at the start", async () => {
  const refused = (...flags: string[]) => {
    const all = ["serve", "--policy", policy, "--http", "127.0.0.1:0", "--processes", ...flags];
    const { status, stderr } = stratagem(...all);
    return [status, stderr];
  };
  expect(refused("9")).toEqual([
    64,
    expect.stringContaining("--max-in-flight of at least 9 times"),
  ]);
  expect(refused("0")).toEqual([64, expect.stringContaining("a whole number")]);
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const taken = refused("2", "--http", `127.0.0.1:${port}`);
  expect(taken).toEqual([65, expect.stringContaining("RUNTIME_LISTEN")]);
  expect(taken[1]).toContain("it is taken");
  other.close();
});

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** One connection, asked again and again. */
class Client {
  readonly #socket: Socket;
  #text = "";
  #onChange: () => void = () => {};
  #isCut = false;
  /** Whether the last answer has said that it was that. */
  isToldEnd = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => {
      this.#text += chunk.toString("latin1");
      this.#onChange();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#isCut = true;
      this.#onChange();
    });
  }

  static async open(port: number): Promise<Client> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Client(socket);
  }

  /** @returns whether there was an answer. */
  async ask(body: string): Promise<boolean> {
    const head = "POST /v2/models/echo/infer HTTP/1.1\r\nhost: localhost\r\n";
    this.#socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
    for (;;) {
      const end = this.#text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1]);
      if (end >= 0 && this.#text.length >= end + 4 + length) {
        this.isToldEnd = /^connection: close\r$/im.test(this.#text.slice(0, end + 2));
        this.#text = this.#text.slice(end + 4 + length);
        return true;
      }
      if (this.#isCut) return false;
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}
