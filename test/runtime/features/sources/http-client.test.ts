/** Requests for documents and files, against a scripted web server. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HttpClient } from "../../../../runtime/features/sources/http-client.ts";
import { PolicySite } from "../../../support/policy-site.ts";

let folder: string;
let site: PolicySite;
const { signal } = new AbortController();

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "stratagem-http-"));
  site = await PolicySite.open();
});

afterEach(async () => {
  await site.close();
  rmSync(folder, { recursive: true });
});

test("an oversized document is aborted at its limit", async () => {
  site.put("/large", Buffer.alloc(1000));
  const client = new HttpClient();
  const asked = client.get(`${site.url}/large`, { maxBytes: 999, signal });
  await expect(asked).rejects.toThrow("/large: expected at most 999 bytes, got more");
  const exact = await client.get(`${site.url}/large`, { maxBytes: 1000, signal });
  expect(exact.kind).toBe("found");
});

test("a server without ETags is polled by modification date", async () => {
  const date = "Mon, 23 Nov 2026 12:00:00 GMT";
  site.onRequest = (request, response) => {
    const isKnown = request.headers["if-modified-since"] === date;
    response.writeHead(isKnown ? 304 : 200, { "last-modified": date }).end(isKnown ? "" : "text");
    return true;
  };
  const client = new HttpClient();
  const first = await client.get(`${site.url}/a`, { maxBytes: 10, signal });
  if (first.kind !== "found") throw new Error(`it answered ${first.kind}`);
  const again = { validator: first.validator, maxBytes: 10, signal };
  expect(await client.get(`${site.url}/a`, again)).toEqual({ kind: "unchanged" });
});

test("the error has the wait that a server requests", async () => {
  site.onRequest = (_, response) => {
    response.writeHead(503, { "retry-after": "7" }).end("busy");
    return true;
  };
  const asked = new HttpClient().get(`${site.url}/a`, { maxBytes: 10, signal });
  await expect(asked).rejects.toMatchObject({ code: "RUNTIME_SOURCE", retryAfterMs: 7000 });
});

test("a silent server and one that stops midway are aborted", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const client = new HttpClient({ timeoutMs: 50 });
  const asked = client.get(`http://127.0.0.1:${port}/a`, { maxBytes: 10, signal });
  await expect(asked).rejects.toThrow("expected an answer, got: no complete answer within 50 ms");
  silent.close();
  site.onRequest = (_, response) => {
    response.writeHead(200, { "content-length": 10 });
    response.write("half ");
    return true;
  };
  const path = join(folder, "file");
  const patient = new HttpClient({ timeoutMs: 1000 });
  const halved = patient.download(`${site.url}/a`, path, { maxBytes: 10, signal });
  await expect(halved).rejects.toThrow(/no (data for|complete answer within) 100\d ms/);
  expect(readFileSync(path, "utf8")).toBe("half ");
});

test.each([
  [true, "abcdefgh", 206],
  [false, "abcdefgh", 200],
])("a download is resumed, with ranges: %s", async (hasRanges, whole, status) => {
  site.hasRanges = hasRanges;
  site.put("/file", whole);
  const path = join(folder, "file");
  writeFileSync(path, "abc");
  await new HttpClient().download(`${site.url}/file`, path, { maxBytes: 8, signal });
  expect(readFileSync(path, "utf8")).toBe(whole);
  expect(site.seen.at(-1)?.status).toBe(status);
});

test("a complete file is left unchanged", async () => {
  site.put("/file", "abc");
  const path = join(folder, "file");
  writeFileSync(path, "abc");
  const client = new HttpClient();
  expect(await client.download(`${site.url}/file`, path, { maxBytes: 8, signal })).toBe(0);
  expect(readFileSync(path, "utf8")).toBe("abc");
});

test.each([
  ["s3cr3t.token", "Bearer s3cr3t.token"],
  ["me:pass", `Basic ${Buffer.from("me:pass").toString("base64")}`],
])("a token is read from a file and follows its changes", async (token, authorization) => {
  const tokenFile = join(folder, "token");
  const client = new HttpClient({ tokenFile });
  site.put("/a", "text");
  writeFileSync(tokenFile, "before\n");
  await client.get(`${site.url}/a`, { maxBytes: 10, signal });
  writeFileSync(tokenFile, `${token}\n`);
  await client.get(`${site.url}/a`, { maxBytes: 10, signal });
  const shown = site.seen.map(({ headers }) => headers.authorization);
  expect(shown).toEqual(["Bearer before", authorization]);
});

test("a token is not sent over an unencrypted connection", async () => {
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "secret");
  let isShown = false;
  const elsewhere = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      isShown ||= String(bytes).toLowerCase().includes("authorization");
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
  });
  // The client takes 127.0.0.2 for another machine, and a test reaches no real one.
  await new Promise<void>((resolve) => void elsewhere.listen(0, "127.0.0.2", resolve));
  const address = elsewhere.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const asked = { maxBytes: 10, signal };
  const found = await new HttpClient({ tokenFile }).get(`http://127.0.0.2:${port}/`, asked);
  expect([found.kind, isShown]).toEqual(["found", false]);
  elsewhere.close();
});

test("an invalid token file is reported by its path, without its content", async () => {
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "two words");
  const asked = new HttpClient({ tokenFile }).get(`${site.url}/a`, { maxBytes: 10, signal });
  await expect(asked).rejects.toThrow(`${tokenFile}: expected one line with a token`);
  expect(site.seen).toEqual([]);
});
