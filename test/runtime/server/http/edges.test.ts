/** What clients get that speak HTTP badly, or oddly: an answer with a reason, each in its turn. */
import { closeSync, openSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { httpWire } from "../../../../lab/campaign/wire/http-wire.ts";
import { runMalformed } from "../../../../lab/campaign/wire/malformed-run.ts";
import { Descriptors } from "../../../../runtime/server/connections/descriptors.ts";
import {
  call,
  closeAll,
  type Harness,
  INFER,
  inferJson,
  jsonOf,
  serve,
  servedBundle,
} from "../harness.ts";
import { exchange, reasonOf, Wire } from "../wire.ts";

afterEach(closeAll);

const HOST = "Host: h\r\n";
const LIVE = `GET /v2/health/live HTTP/1.1\r\n${HOST}\r\n`;
const BODY = inferJson([[1, 2]]);
const inferOf = (fields: string, body = BODY) =>
  `POST ${INFER} HTTP/1.1\r\n${HOST}${fields}\r\n${body}`;
const WHOLE = inferOf(`Content-Length: ${BODY.length}\r\n`);
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const get = (fields: string, target = "/v2") => `GET ${target} HTTP/1.1\r\n${fields}\r\n`;

describe("one request is refused, and the connection ends", () => {
  test.each([
    ["no Host", get(""), 400, "Host: expected the field once, got it 0 times"],
    ["two Hosts", get(`${HOST}${HOST}`), 400, "Host: expected the field once, got it 2 times"],
    ["a Host that is none", get("Host: a b/c\r\n"), 400, "Host: expected a name or an address"],
    ["another Expect", inferOf("Expect: 200\r\nContent-Length: 9\r\n", ""), 417, "100-continue"],
    ["CONNECT", `CONNECT a:80 HTTP/1.1\r\n${HOST}\r\n`, 405, "GET, HEAD or POST, got CONNECT"],
    ["both lengths", inferOf("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", CHUNKS), 400],
    ["two lengths", inferOf("Content-Length: 9\r\nContent-Length: 8\r\n"), 400],
    ["a negative length", inferOf("Content-Length: -9\r\n"), 400],
    ["a length beyond numbers", inferOf("Content-Length: 9999999999999999999999\r\n"), 400],
    ["a list of lengths", inferOf("Content-Length: 9, 9\r\n"), 400],
    ["another coding", inferOf("Transfer-Encoding: gzip, chunked\r\n", CHUNKS), 501, "chunked"],
    ["chunks without sizes", inferOf("Transfer-Encoding: chunked\r\n", "zz\r\n"), 400],
    ["chunks beyond numbers", inferOf("Transfer-Encoding: chunked\r\n", `${"f".repeat(20)}\r\n`)],
    ["chunks of HTTP/1.0", `POST ${INFER} HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
    ["HTTP/0.9", "GET /v2\r\n\r\n", 505, "expected HTTP/1.1, got HTTP/0.9"],
    ["HTTP/2", `GET /v2 HTTP/2.0\r\n${HOST}\r\n`, 505, "expected HTTP/1.1, got HTTP/2.0"],
    ["a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "the preface of HTTP/2"],
    ["a TLS handshake", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", 400, "TLS handshake"],
    ["authority form", get(HOST, "a:80"), 400],
    ["a byte of no text in the path", get(HOST, "/v2/\x00"), 400],
    ["too long a header", get(`${HOST}x: ${"y".repeat(20_000)}\r\n`), 431],
    ["too many fields", get(`${HOST}${"a: b\r\n".repeat(300)}`), 431, "at most 256 fields"],
    ["too many fields before Host", get(`${"a: b\r\n".repeat(2100)}${HOST}`), 431, "fields"],
    ["a folded field", get(`${HOST}x: a\r\n b\r\n`), 400],
    ["lines that end in LF", "GET /v2 HTTP/1.1\nHost: h\n\n", 400],
    ["lines that end in CR", "GET /v2 HTTP/1.1\rHost: h\r\r", 400],
    ["a method in lower case", `get /v2 HTTP/1.1\r\n${HOST}\r\n`, 400],
    ["a header that is cut", `GET /v2 HTTP/1.1\r\n${HOST}`, 400, "ended before the request did"],
    ["a body that is cut", inferOf("Content-Length: 900\r\n"), 400, "ended before the request did"],
    [
      "a body that is cut, of a request to upgrade",
      inferOf("Connection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n", "9\r\nx"),
      400,
      "ended before the request did",
    ],
  ])("%s", async (_, text, status = 400, reason = "") => {
    const replies = await exchange(await serve(), text);
    expect(replies).toHaveLength(1);
    const [reply] = replies;
    expect(reply?.status).toBe(status);
    expect(reasonOf(reply)).toContain(reason);
    expect(reply?.headers.get("connection")).toBe("close");
    expect(reply?.headers.get("content-type")).toBe("application/json");
  });
});

describe("what is odd but right is answered", () => {
  test.each([
    ["absolute form", get(HOST, "http://other.example/v2/health/live?a=b")],
    ["an upgrade that nobody offers", get(`${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n`)],
    ["empty lines before a request", `\r\n\r\n${LIVE}`],
    ["an empty Host", get("Host:\r\n")],
    ["HTTP/1.0", "GET /v2 HTTP/1.0\r\n\r\n"],
    ["HTTP/1.0 that stays", "GET /v2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"],
    [
      "chunks with trailers",
      inferOf("Transfer-Encoding: chunked\r\n", `${CHUNKS.slice(0, -2)}x: y\r\n\r\n`),
    ],
  ])("%s", async (_, text) => {
    const replies = await exchange(await serve(), text);
    expect(replies.map(({ status }) => status)).toEqual([200]);
  });

  test("HEAD has the header of GET and no body, errors too", async () => {
    const harness = await serve();
    for (const [path, status] of [
      ["/v2", 200],
      ["/v2/health/live", 200],
      ["/metrics", 200],
      ["/v2/models/tiny", 200],
      ["/v2/models/tiny/config", 200],
      ["/v2/models/other", 404],
      ["/nowhere", 404],
      [INFER, 405],
    ] as const) {
      const [reply] = await exchange(harness, `HEAD ${path} HTTP/1.1\r\n${HOST}\r\n`, true);
      expect([path, reply?.status]).toEqual([path, status]);
      expect(Number(reply?.headers.get("content-length"))).toBeGreaterThan(0);
    }
  });

  test("a body where none is read ends the connection after the answer", async () => {
    const replies = await exchange(
      await serve(),
      `GET /v2/health/live HTTP/1.1\r\n${HOST}Content-Length: ${LIVE.length}\r\n\r\n${LIVE}${LIVE}`,
    );
    expect(replies).toHaveLength(1);
    expect(replies[0]?.headers.get("connection")).toBe("close");
  });

  test("other methods are told which there are, and the connection stays", async () => {
    const harness = await serve();
    for (const method of ["OPTIONS", "TRACE", "PUT", "DELETE", "PATCH"]) {
      const text = `${method} /v2 HTTP/1.1\r\n${HOST}\r\n${LIVE}`;
      const [refused, live] = await exchange(harness, text);
      expect([refused?.status, refused?.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      expect(live?.status).toBe(200);
    }
    const [asterisk] = await exchange(harness, `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`);
    expect(reasonOf(asterisk)).toBe("expected a path, got *");
  });
});

describe("Expect: 100-continue", () => {
  test("is told to go on once the body is wanted", async () => {
    const wire = await Wire.open(await serve());
    wire.send(inferOf(`Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n`, ""));
    await wire.until("HTTP/1.1 100 Continue\r\n\r\n");
    wire.socket.end(BODY);
    await wire.ended;
    expect(wire.replies().map(({ status }) => status)).toEqual([200]);
  });

  test.each([
    ["is refused", inferOf("Expect: 100-continue\r\nContent-Length: 9999\r\n", ""), 413],
    [
      "has no path",
      `POST /no HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`,
    ],
  ])("is not told to go on where the request %s", async (_, text, status = 404) => {
    const wire = await Wire.open(await serve({ limits: { maxBodyBytes: 1024 } }));
    wire.send(text);
    await wire.ended;
    wire.socket.destroy();
    expect(wire.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});

describe("answers come in the order of the requests", () => {
  test("what is no request is refused after the request before it was answered", async () => {
    const harness = await serve();
    harness.executor.isHolding = true;
    const wire = await Wire.open(harness);
    wire.send(`${WHOLE}GARBAGE\r\n\r\n`);
    await harness.executor.ran(1);
    harness.executor.finish();
    await wire.ended;
    wire.socket.destroy();
    expect(wire.replies().map(({ status }) => status)).toEqual([200, 400]);
  });

  test("a client that has ended its side gets the answer that it waits for", async () => {
    const harness = await serve();
    harness.executor.isHolding = true;
    const wire = await Wire.open(harness);
    wire.socket.end(WHOLE);
    await harness.executor.ran(1);
    // The server has seen the end of the client's side once it looks whether it is still there.
    await wire.until("HTTP/1.1 100 Continue");
    harness.executor.finish();
    await wire.ended;
    const [reply] = wire.replies();
    expect([reply?.status, reply?.headers.get("connection")]).toEqual([200, "close"]);
  });

  test("more requests than may wait are refused, and what waits is answered", async () => {
    const harness = await serve({ limits: { maxPipelined: 3 } });
    harness.executor.isHolding = true;
    const wire = await Wire.open(harness);
    wire.send(WHOLE.repeat(6));
    await harness.executor.ran(1);
    // The others have been read when the loop has gone round.
    await new Promise((resolve) => setImmediate(resolve));
    harness.executor.isHolding = false;
    harness.executor.finish();
    await wire.ended;
    wire.socket.destroy();
    expect(wire.replies().map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  });

  test("a client that is gone when it is answered before a CONNECT harms nobody", async () => {
    const harness = await serve();
    harness.executor.isHolding = true;
    const wire = await Wire.open(harness);
    wire.send(`${WHOLE}CONNECT a:80 HTTP/1.1\r\n${HOST}\r\n`);
    await harness.executor.ran(1);
    const closed = new Promise((resolve) => wire.socket.once("close", resolve));
    wire.socket.resetAndDestroy();
    await closed;
    harness.executor.finish();
    expect((await exchange(harness, LIVE)).map(({ status }) => status)).toEqual([200]);
  });

  test("a client that sends on learns why it was refused", async () => {
    const harness = await serve({ limits: { maxBodyBytes: 1024, lingerMs: 60_000 } });
    const wire = await Wire.open(harness);
    wire.send(inferOf("Content-Length: 9000000\r\n", "x".repeat(9_000_000)));
    await wire.ended;
    wire.socket.destroy();
    expect(wire.replies().map(({ status }) => status)).toEqual([413]);
  });
});

describe("a reason", () => {
  test("is cut, whatever the client sent", async () => {
    const reply = await call(await serve(), `/v2/models/${"a".repeat(15_000)}`);
    expect(reply.status).toBe(404);
    expect(jsonOf(reply).error.length).toBeLessThan(1100);
  });

  test("has no characters that a terminal obeys", async () => {
    const reply = await call(await serve(), "/v2/models/%00%1b[2J%0d%0a%e2%80%ae%c2%9b");
    expect(reply.status).toBe(404);
    expect(jsonOf(reply).error).toMatch(/^[^\p{Cc}\p{Cf}]+$/u);
  });
});

/** Opened by a test; the next that is opened has the lowest number that is free. */
const taken: number[] = [];

function nextDescriptor(): number {
  const fd = openSync("/dev/null", "r");
  closeSync(fd);
  return fd;
}

/** Value of a metric with that label. */
function metricValue({ server }: Harness, name: string, label: string): number | undefined {
  for (const line of server.metricLines()) {
    if (line.kind !== "sample" || line.name !== name) continue;
    if (Object.values(line.labels).includes(label)) return line.value;
  }
  return undefined;
}

function takeBelow(limit: number): void {
  while (nextDescriptor() < limit) taken.push(openSync("/dev/null", "r"));
}

describe("more connections than there is room for", () => {
  afterEach(() => {
    for (const fd of taken.splice(0)) closeSync(fd);
  });

  const limits = { maxConnections: 2, headerTimeoutMs: 60_000 };

  test("those that asked for nothing make room, the oldest first", async () => {
    const harness = await serve({ limits });
    const silent = await Wire.open(harness);
    await exchange(harness, LIVE);
    const other = await Wire.open(harness);
    const third = await exchange(harness, LIVE);
    await silent.ended;
    expect(silent.replies().map(({ status }) => status)).toEqual([408]);
    expect(third.map(({ status }) => status)).toEqual([200]);
    other.send(LIVE);
    await other.until("true");
    other.socket.destroy();
  });

  test("where all have asked, a new one is told that there is none", async () => {
    const harness = await serve({ limits });
    const asked = [await Wire.open(harness), await Wire.open(harness)];
    for (const wire of asked) {
      wire.send(LIVE);
      await wire.until("true");
    }
    const [reply] = await exchange(harness, LIVE);
    expect([reply?.status, reply?.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(reasonOf(reply)).toBe("expected at most 2 connections");
    for (const wire of asked) wire.socket.destroy();
  });

  test("where descriptors are short, a new one is rejected, and the last are closed", async () => {
    const descriptors = new Descriptors(nextDescriptor() + 200);
    const harness = await serve({ descriptors, limits: { lingerMs: 20 } });
    const wire = await Wire.open(harness);
    wire.send(LIVE);
    await wire.until("true");
    takeBelow(descriptors.limit - descriptors.kept);
    const [reply] = await exchange(harness, LIVE);
    expect([reply?.status, reply?.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(reasonOf(reply)).toContain("descriptors of the server are kept for its workers");
    // The rejected connection lingers, and then frees its descriptor.
    await expect.poll(() => metricValue(harness, "stratagem_connections", "http")).toBe(1);
    takeBelow(descriptors.limit);
    const last = await Wire.open(harness);
    last.send(LIVE);
    await last.ended;
    expect(last.replies()).toEqual([]);
    wire.send(LIVE);
    await expect.poll(() => wire.replies().length).toBe(2);
    const name = "stratagem_connections_ended_total";
    expect(metricValue(harness, name, "no descriptors")).toBe(2);
    wire.socket.destroy();
  });
});

test("a thousand malformed requests are all answered with a reason", async () => {
  const harness = await serve({ bundle: servedBundle({ workers: 2 }) });
  const { hostname: host, port } = new URL(harness.server.url);
  const wire = httpWire("tiny", BODY);
  const lost = await runMalformed(wire, { host, port: Number(port) }, { size: 1000, seed: 1 });
  expect(lost).toEqual([]);
  expect((await call(harness, INFER, { body: BODY })).status).toBe(200);
  expect((await call(harness, "/metrics")).body.toString()).toContain(
    '\nstratagem_buffered_bytes{what="http_answers"} 0',
  );
});
