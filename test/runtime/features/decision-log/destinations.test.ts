/** Destinations of batches: files that survive a crash, and an HTTP receiver. */
import { once } from "node:events";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { FileDestination } from "../../../../runtime/features/decision-log/file-destination.ts";
import { HttpDestination } from "../../../../runtime/features/decision-log/http-destination.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-places-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NEVER = new AbortController().signal;

test("a file has the batches as consecutive gzip members", async () => {
  const path = join(folder, "zipped.gz");
  const destination = new FileDestination(path);
  await destination.prepare();
  expect(await destination.send("one\n")).toEqual({ kind: "taken" });
  expect(await destination.send("two\n")).toEqual({ kind: "taken" });
  expect(gunzipSync(readFileSync(path)).toString()).toBe("one\ntwo\n");
});

test("a batch truncated by a crash is removed at the next start, at any length", async () => {
  const path = join(folder, "cut.gz");
  await new FileDestination(path).send("one\n");
  const whole = readFileSync(path);
  await new FileDestination(path).send("two two two\n");
  const both = readFileSync(path);
  for (let size = whole.length + 1; size < both.length; size++) {
    writeFileSync(path, both);
    truncateSync(path, size);
    const next = new FileDestination(path);
    await next.prepare();
    await next.send("three\n");
    expect(gunzipSync(readFileSync(path)).toString()).toBe("one\nthree\n");
  }
  writeFileSync(path, both);
  await new FileDestination(path).prepare();
  expect(readFileSync(path)).toEqual(both);
});

test("after a batch that failed, a part of one is removed before the next", async () => {
  const path = join(folder, "failed.gz");
  const destination = new FileDestination(path);
  mkdirSync(path);
  expect(await destination.send("one\n")).toMatchObject({ kind: "away" });
  rmdirSync(path);
  await new FileDestination(path).send("two\n");
  appendFileSync(path, readFileSync(path).subarray(0, 15));
  expect(await destination.send("three\n")).toEqual({ kind: "taken" });
  expect(gunzipSync(readFileSync(path)).toString()).toBe("two\nthree\n");
});

test("a plain file has the lines unchanged, and a truncated line is ended", async () => {
  const path = join(folder, "plain.jsonl");
  appendFileSync(path, "one\ntw");
  const destination = new FileDestination(path);
  await destination.prepare();
  await destination.send("three\n");
  expect(readFileSync(path, "utf8")).toBe("one\ntw\nthree\n");
});

test("an unwritable file is an outage, and an error at the start", async () => {
  const missing = new FileDestination(join(folder, "missing", "log.gz"));
  await expect(missing.prepare()).rejects.toThrow("ENOENT");
  expect(await missing.send("one\n")).toEqual({ kind: "away", reason: "ENOENT" });
});

/** A receiver that answers with one status after another. */
async function receiver(answers: readonly (readonly [number, Record<string, string>?])[]) {
  const got: { text: string; headers: IncomingHttpHeaders }[] = [];
  const left = [...answers];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    got.push({ text: gunzipSync(Buffer.concat(chunks)).toString(), headers: request.headers });
    const [status, headers] = left.shift() ?? [204];
    response.writeHead(status, headers).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { got, port, close };
}

test("batches are posted as gzip with credentials; some statuses are retried", async () => {
  const { got, port, close } = await receiver([[503, { "retry-after": "2" }], [429], [200], [413]]);
  const url = new URL(`http://me:s%20x@127.0.0.1:${port}/logs`);
  const destination = new HttpDestination(url);
  expect(destination.name).toBe(`http://127.0.0.1:${port}/logs`);
  const said = [];
  for (let time = 0; time < 4; time++) said.push(await destination.send(`${time}\n`, NEVER));
  expect(said).toEqual([
    { kind: "away", reason: "the receiver answered 503", waitMs: 2000 },
    { kind: "away", reason: "the receiver answered 429" },
    { kind: "taken" },
    { kind: "refused", reason: "the receiver answered 413" },
  ]);
  expect(got[2]).toMatchObject({
    text: "2\n",
    headers: {
      "content-type": "application/x-ndjson",
      "content-encoding": "gzip",
      authorization: `Basic ${Buffer.from("me:s x").toString("base64")}`,
    },
  });
  close();
  expect(await destination.send("4\n", NEVER)).toEqual({ kind: "away", reason: "ECONNREFUSED" });
});

test("a token is sent as a bearer token, and redirects are not followed", async () => {
  const { got, port, close } = await receiver([[302, { location: "/elsewhere" }]]);
  const destination = new HttpDestination(new URL(`http://127.0.0.1:${port}/`), "secret");
  expect((await destination.send("one\n", NEVER)).kind).toBe("away");
  expect(got.map(({ headers }) => headers["authorization"])).toEqual(["Bearer secret"]);
  close();
});
