/** What a server that was started by its command tells of itself: logs, ids, traces. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compileEcho } from "../support/echo-bundle.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-logs-"));
const bundle = join(folder, "bundle.msgpack");
const running: ReturnType<typeof startStratagem>[] = [];

beforeAll(() => void compileEcho(folder), 60_000);

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Starts a server on any port and waits until it says where. */
async function serve(...more: string[]) {
  const child = startStratagem(
    ...["serve", "--policy", bundle, "--http", "127.0.0.1:0", "--json", "--no-means-check"],
    ...more,
  );
  running.push(child);
  let log = "";
  child.stderr?.on("data", (chunk) => {
    log += String(chunk);
  });
  const url = await urlOf(child);
  const parsed = () => linesOf(log);
  return { url, child, parsed };
}

/** Lines of JSON, as far as they are whole. */
function linesOf(text: string): Record<string, unknown>[] {
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

test("the log is lines of JSON, and the access log has every request", async () => {
  const paths: string[] = [];
  const receiver = createServer((request, response) => {
    paths.push(request.url ?? "");
    request.resume().on("end", () => response.end("{}"));
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  const access = join(folder, "access.log");
  const { url, child, parsed } = await serve(
    ...["--log", "json", "--access-log", access],
    ...["--otlp-endpoint", `http://127.0.0.1:${port}`],
  );
  const input = { name: "x", datatype: "FP32", shape: [1, 3], data: [1, 2, 3] };
  const infer = (id: string) =>
    fetch(`${url}/v2/models/echo/infer`, {
      method: "POST",
      body: JSON.stringify({ inputs: [input] }),
      headers: { "x-request-id": id },
    });
  expect((await infer("one")).headers.get("x-request-id")).toBe("one");
  await until(() => contentOf(access).endsWith("\n"));
  expect(linesOf(contentOf(access))).toMatchObject([
    { requestId: "one", model: "echo", status: 200, variant: "small", batch: 1, level: 0 },
  ]);

  // What rotates logs moves the file and says so; a bundle that is no bundle is told as an error.
  renameSync(access, join(folder, "access.log.1"));
  const good = readFileSync(bundle);
  writeFileSync(bundle, "what?");
  child.kill("SIGHUP");
  await until(() => parsed().some(({ level }) => level === "error"));
  writeFileSync(bundle, good);
  expect(parsed().at(-1)).toMatchObject({
    level: "error",
    message: expect.stringContaining("not followed, the bundle before it goes on deciding"),
  });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('stratagem_reloads_total{model="echo",result="refused"} 1\n');
  expect(metrics).toContain('stratagem_reload_last_successful{model="echo",what="bundle"} 0\n');
  expect(metrics).toContain('stratagem_log_records_total{log="access",outcome="lost"} 0\n');
  await infer("two");

  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(linesOf(contentOf(access)).map(({ path }) => path)).toContain("/metrics");
  expect(linesOf(contentOf(access)).at(-1)).toMatchObject({ requestId: "two" });
  expect(linesOf(contentOf(join(folder, "access.log.1")))).toHaveLength(1);
  expect(parsed().at(-1)).toMatchObject({
    level: "info",
    message: "stopping: answering accepted requests",
  });
  expect(new Set(paths)).toEqual(new Set(["/v1/traces", "/v1/metrics"]));
  receiver.close();
});

test("an access log that cannot be written, and an endpoint that is none, are refused", () => {
  const args = ["serve", "--policy", bundle, "--http", "127.0.0.1:0", "--no-means-check"];
  const file = stratagem(...args, "--access-log", join(folder, "none", "log"));
  expect(file.status).toBe(64);
  expect(file.stderr).toContain("--access-log: expected a writable file, got ");
  const endpoint = stratagem(...args, "--otlp-endpoint", "collector:4318");
  expect(endpoint.status).toBe(64);
  expect(endpoint.stderr).toContain("expected a URL such as http://127.0.0.1:4318");
});
