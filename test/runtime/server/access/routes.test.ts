import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { exposition, type MetricLine } from "../../../../runtime/base/exposition.ts";
import { Access, type AccessOptions } from "../../../../runtime/server/access/access.ts";
import { needOfRpc, SCOPES } from "../../../../runtime/server/access/scopes.ts";
import { HttpError } from "../../../../runtime/server/connections/http-error.ts";
import type { OpenOptions } from "../../../../runtime/server/serve.ts";
import { type Call, call, closeAll, INFER, inferJson, jsonOf, serve } from "../harness.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-access-"));
const opened: Access[] = [];
afterEach(async () => {
  await closeAll();
  for (const access of opened.splice(0)) access.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const BODY = inferJson([[1, 2]]);
const NOW_MS = Date.UTC(2026, 5, 1);

function tokenLine(name: string, scopes: readonly string[], expires?: string): string {
  const hash = `sha256:${createHash("sha256").update(`secret-${name}`).digest("hex")}`;
  return `- ${JSON.stringify({ name, hash, scopes, expires })}`;
}

function tokenFile(lines: readonly string[]): string {
  const path = join(folder, `tokens-${opened.length}.yaml`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

const TOKENS = [
  ...SCOPES.map((scope) => tokenLine(scope, [scope])),
  tokenLine("all", SCOPES),
  tokenLine("old", SCOPES, "2026-05-31"),
];

function isRefusal(line: MetricLine): boolean {
  if (line.kind !== "sample" || line.value === 0) return false;
  return /^(unknown_host|other_origin)$/.test(line.labels["reason"] ?? "");
}

async function served(
  options: AccessOptions,
  more: Partial<OpenOptions> = {},
  nowMs = () => 0,
  hosts: readonly string[] = [],
) {
  const access = await Access.open(options, { nowMs, epochNowMs: () => NOW_MS, hosts });
  opened.push(access);
  const admin: OpenOptions["admin"] = {
    reload: async (application) => {
      if (application === "other") return null;
      const isFollowed = application !== "broken";
      return { isFollowed, notice: "read again", applications: [] };
    },
    config: () => ({ settings: {} }),
    state: () => ({ access: access.state() }),
  };
  return serve({ access, admin, ...more });
}

const bearer = (name: string) => ({ authorization: `Bearer secret-${name}` });

/** Every route there is, and what it needs. */
const ROUTES: readonly (readonly [method: string, path: string, need: string])[] = [
  ["GET", "/", "open"],
  ["GET", "/v2/health/live", "open"],
  ["GET", "/v2/health/ready", "open"],
  ["GET", "/v2", "infer"],
  ["GET", "/v2/models/tiny", "infer"],
  ["GET", "/v2/models/tiny/ready", "infer"],
  ["GET", "/v2/models/tiny/config", "infer"],
  ["GET", "/v2/models/tiny/stats", "infer"],
  ["GET", "/v2/models/tiny/versions/1", "infer"],
  ["GET", "/v2/models/stats", "infer"],
  ["GET", "/v2/models/tiny/feedback", "infer"],
  ["POST", "/v2/models/tiny/feedback", "infer"],
  ["POST", "/v2/repository/index", "infer"],
  ["POST", INFER, "infer"],
  ["GET", "/v1/models/tiny", "infer"],
  ["POST", "/v1/models/tiny:predict", "infer"],
  ["POST", "/v2/models/tiny/versions/1/infer", "infer"],
  ["POST", "/v2/models/t%69ny/infer", "infer"],
  ["GET", "/no/such/path", "infer"],
  ["POST", "/v2/repository/models/tiny/load", "admin"],
  ["POST", "/v2/repository/m%6fdels/tiny/unload", "admin"],
  ["GET", "/v2/logging", "admin"],
  ["POST", "/v2/l%6fgging", "admin"],
  ["GET", "/v2/trace/setting", "admin"],
  ["POST", "/v2/models/t%69ny/tr%61ce/setting", "admin"],
  ["GET", "/v2/models/tiny/trace/setting", "admin"],
  ["GET", "/metrics", "metrics"],
  ["GET", "/m%65trics", "metrics"],
  ["GET", "/v2/stratagem/live", "metrics"],
  ["GET", "/v2/stratagem/times", "metrics"],
  ["POST", "/admin/reload", "admin"],
  ["GET", "/admin/config", "admin"],
  ["GET", "/%61dmin/state", "admin"],
  ["GET", "/admin/nothing", "admin"],
];

describe("tokens", () => {
  test.each(ROUTES)("%s %s needs the scope %s", async (method, path, need) => {
    const harness = await served({ tokens: tokenFile(TOKENS) });
    const isInfer = path.endsWith("/infer");
    const ask = async (headers: Record<string, string>) => {
      const body = method === "POST" ? (isInfer ? BODY : "") : undefined;
      const options = { method, headers, ...(body === undefined ? {} : { body }) };
      return call(harness, path, options);
    };
    const open = await ask({});
    const unknown = await ask(bearer("nobody"));
    const old = await ask(bearer("old"));
    const all = await ask(bearer("all"));
    expect([401, 403]).not.toContain(all.status);
    if (need === "open") {
      expect([open.status, unknown.status, old.status]).toEqual([200, 200, 200]);
      return;
    }
    expect([open.status, unknown.status, old.status]).toEqual([401, 401, 401]);
    expect(open.headers["www-authenticate"]).toBe('Bearer realm="stratagem"');
    expect(old.headers["www-authenticate"]).toContain('error="invalid_token"');
    expect(jsonOf(open)).toEqual({ error: "Authorization: expected a bearer token, got none" });
    for (const scope of SCOPES) {
      const { status, headers, body } = await ask(bearer(scope));
      if (scope === need) expect({ status, body }).toEqual({ status: all.status, body });
      else {
        const challenge = `error="insufficient_scope", scope="${need}"`;
        expect([status, headers["www-authenticate"]]).toEqual([
          ...[403, `Bearer realm="stratagem", ${challenge}`],
        ]);
      }
    }
  });

  test.each(["", "secret-all", "Basic c2VjcmV0LWFsbA==", "Bearer", "Bearer a b", "bearer  "])(
    "that are shown as %j are none",
    async (authorization) => {
      const harness = await served({ tokens: tokenFile(TOKENS) });
      expect((await call(harness, "/v2", { headers: { authorization } })).status).toBe(401);
    },
  );

  test("a stranger keeps the connection, and is neither load nor a failed request", async () => {
    const harness = await served({ tokens: tokenFile(TOKENS) });
    const before = (await call(harness, "/metrics", { headers: bearer("metrics") })).body;
    for (let count = 0; count < 5; count++) {
      const { status, headers } = await call(harness, INFER, {
        body: BODY,
        headers: { connection: "keep-alive" },
      });
      expect([status, headers.connection]).toEqual([401, "keep-alive"]);
    }
    const after = (await call(harness, "/metrics", { headers: bearer("metrics") })).body;
    const told = (text: Buffer) =>
      `${text}`.split("\n").filter((line) => /^(?:nv_|stratagem_load|stratagem_q)/.test(line));
    expect(told(after)).toEqual(told(before));
    expect(`${after}`).toContain('stratagem_refused_total{what="request",reason="no_token"} 5');
    expect(`${after}`).toContain('stratagem_requests_total{protocol="http",code="401"} 5');
  });

  test("a stranger learns nothing of load: the answer is the same without room", async () => {
    const harness = await served({ tokens: tokenFile(TOKENS) }, { limits: { maxPending: 1 } });
    harness.executor.isHolding = true;
    const held = call(harness, INFER, { body: BODY, headers: bearer("infer") });
    await harness.executor.ran(1);
    const stranger = await call(harness, INFER, { body: BODY });
    const friend = await call(harness, INFER, { body: BODY, headers: bearer("infer") });
    expect([stranger.status, friend.status]).toEqual([401, 429]);
    harness.executor.finish();
    expect((await held).status).toBe(200);
  });

  test("a body of a stranger is not read where it is long", async () => {
    const harness = await served({ tokens: tokenFile(TOKENS) });
    const body = Buffer.alloc(3 << 20);
    const { status, headers } = await call(harness, INFER, { body });
    expect([status, headers.connection]).toEqual([401, "close"]);
  });

  test("the file is read again: new tokens count, old ones do not, a bad one is left", async () => {
    const path = tokenFile(TOKENS);
    const harness = await served({ tokens: path });
    const [access] = opened;
    const status = async (name: string) =>
      (await call(harness, "/v2", { headers: bearer(name) })).status;
    expect([await status("infer"), await status("new")]).toEqual([200, 401]);
    writeFileSync(path, `${tokenLine("new", ["infer"])}\n`);
    expect(await access?.refresh()).toEqual([]);
    expect([await status("infer"), await status("new")]).toEqual([401, 200]);
    writeFileSync(path, "- {name: new");
    expect(await access?.refresh()).toHaveLength(1);
    expect(await status("new")).toBe(200);
    expect(exposition(access?.metricLines() ?? [])).toContain(
      'stratagem_reload_last_successful{what="tokens"} 0',
    );
    writeFileSync(path, "[]\n");
    await access?.refresh();
    expect(await status("new")).toBe(401);
    expect(exposition(access?.metricLines() ?? [])).toContain(
      'stratagem_reload_last_successful{what="tokens"} 1',
    );
  });

  test("the file is swapped under load: whoever is in both is never refused", async () => {
    const path = tokenFile([tokenLine("both", ["infer"]), tokenLine("one", ["infer"])]);
    const harness = await served({ tokens: path });
    const [access] = opened;
    let isOver = false;
    const seen = new Set<number>();
    const ask = async () => {
      while (!isOver) {
        seen.add((await call(harness, INFER, { body: BODY, headers: bearer("both") })).status);
      }
    };
    const load = Promise.all(Array.from({ length: 4 }, ask));
    for (let turn = 0; turn < 20; turn++) {
      writeFileSync(path, `${tokenLine("both", ["infer"])}\n${tokenLine(`t${turn}`, ["infer"])}\n`);
      await access?.refresh();
      const now = await call(harness, "/v2", { headers: bearer(`t${turn}`) });
      const before = await call(harness, "/v2", { headers: bearer(`t${turn - 1}`) });
      expect([now.status, before.status]).toEqual([200, 401]);
    }
    isOver = true;
    await load;
    expect([...seen]).toEqual([200]);
  });

  test("a change of the file is seen without being asked for", async () => {
    const path = tokenFile(TOKENS);
    const notices: string[] = [];
    const noticed = new Promise<void>((resolve) => {
      const onNotice = (message: string) => resolve(void notices.push(message));
      void Access.open({ tokens: path }, { nowMs: () => 0, onNotice, lookMs: 5 }).then((access) => {
        opened.push(access);
        writeFileSync(path, `${tokenLine("new", ["infer"])}\n`);
      });
    });
    await noticed;
    expect(notices).toEqual([`${path}: reloaded`]);
  });
});

describe("limits by client", () => {
  test("refuse with 429 and Retry-After what is beyond a rate, of each token apart", async () => {
    const clock = { nowMs: 0 };
    const options = { tokens: tokenFile(TOKENS), clientRate: 2 };
    const harness = await served(options, {}, () => clock.nowMs);
    const ask = (name: string) => call(harness, INFER, { body: BODY, headers: bearer(name) });
    const replies = [await ask("infer"), await ask("infer"), await ask("infer")];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(replies[2]?.headers["retry-after"]).toBe("1");
    expect((await ask("all")).status).toBe(200);
    clock.nowMs += 500;
    expect([(await ask("infer")).status, (await ask("infer")).status]).toEqual([200, 429]);
    const metrics = await call(harness, "/metrics", { headers: bearer("metrics") });
    expect(`${metrics.body}`).toContain('refused_total{what="request",reason="client_rate"} 2');
  });

  test("refuse what is beyond a number at a time, until one is answered", async () => {
    const harness = await served({ clientConcurrency: 1 });
    harness.executor.isHolding = true;
    const held = call(harness, INFER, { body: BODY });
    await harness.executor.ran(1);
    expect((await call(harness, INFER, { body: BODY })).status).toBe(429);
    expect((await call(harness, "/v2/health/ready")).status).toBe(200);
    harness.executor.isHolding = false;
    harness.executor.finish();
    await held;
    expect((await call(harness, INFER, { body: BODY })).status).toBe(200);
  });

  test("a client that goes away while it waits is counted no more", async () => {
    const harness = await served({ clientConcurrency: 1 });
    harness.executor.isHolding = true;
    const gone = call(harness, INFER, {
      body: BODY,
      onRequest: (request) => void harness.executor.ran(1).then(() => request.destroy()),
    });
    await expect(gone).rejects.toThrow();
    harness.executor.isHolding = false;
    harness.executor.finish();
    const statuses = async () => (await call(harness, INFER, { body: BODY })).status;
    await expect.poll(statuses).toBe(200);
  });
});

describe("pages in browsers", () => {
  const origin = "https://app.example";
  const preflight: Call = {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    },
  };

  test("are told nothing where it is off", async () => {
    const harness = await served({});
    const { status, headers } = await call(harness, "/v2", { headers: { origin } });
    expect([status, headers["access-control-allow-origin"]]).toEqual([403, undefined]);
    expect((await call(harness, INFER, preflight)).status).toBe(403);
  });

  test("may ask if their origin is named; the question before needs no token", async () => {
    const harness = await served({ tokens: tokenFile(TOKENS), corsOrigins: [origin] });
    const asked = await call(harness, INFER, preflight);
    expect([asked.status, asked.headers["access-control-allow-origin"]]).toEqual([204, origin]);
    expect(asked.headers["access-control-allow-headers"]).toBe("authorization,content-type");
    expect(asked.headers["access-control-allow-methods"]).toBe("GET, HEAD, POST");
    expect(asked.headers.vary).toBe("Origin");
    const refused = await call(harness, INFER, { body: BODY, headers: { origin } });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([401, origin]);
    const headers = { origin, ...bearer("infer") };
    const answered = await call(harness, INFER, { body: BODY, headers });
    expect([answered.status, answered.headers["access-control-allow-origin"]]).toEqual([
      200,
      origin,
    ]);
    const other = {
      ...preflight,
      headers: { ...preflight.headers, origin: "https://evil.example" },
    };
    const elsewhere = await call(harness, INFER, other);
    expect(elsewhere.status).toBe(403);
    expect(elsewhere.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test("are turned away at the door with what lets them read why", async () => {
    const harness = await served({ corsOrigins: ["*"] }, { limits: { maxPending: 1 } });
    harness.executor.isHolding = true;
    const held = call(harness, INFER, { body: BODY });
    await harness.executor.ran(1);
    const { status, headers } = await call(harness, INFER, { body: BODY, headers: { origin } });
    expect([status, headers["access-control-allow-origin"], headers["retry-after"]]).toEqual([
      ...[429, "*", "1"],
    ]);
    harness.executor.finish();
    await held;
  });

  const OWN = "tiny.example";
  const READ = ["/metrics", "/admin/state", "/admin/config", "/v2/stratagem/live", "/"];
  /** Whatever browsers send for a page of another site, and scripts that rebind a name. */
  test.each([
    [{ host: "evil.example" }],
    [{ host: "evil.example:8000" }],
    [{ host: "EVIL.example.:8000" }],
    [{ host: "localhost.evil.example" }],
    [{ host: "127.0.0.1.evil.example" }],
    [{ host: "evil.example", "sec-fetch-site": "same-origin" }],
    [{ host: "evil.example", "sec-fetch-site": "none" }],
    [{ host: "localhost", "sec-fetch-site": "cross-site" }],
    [{ host: "localhost", "sec-fetch-site": "same-site" }],
    [{ host: "localhost", "sec-fetch-site": "same-origin, cross-site" }],
    [
      {
        host: "localhost",
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "iframe",
      },
    ],
    [{ host: "localhost", origin: "http://evil.example" }],
    [{ host: "localhost", origin: "null" }],
    [{ host: "localhost:1", origin: "http://localhost:2" }],
  ])("of other sites read nothing by %o", async (headers) => {
    const harness = await served({});
    for (const path of READ) {
      const asked = await call(harness, path, { headers: { accept: "text/html", ...headers } });
      expect([path, asked.status]).toEqual([path, 403]);
    }
    expect(harness.server.metricLines().filter(isRefusal).length).toBeGreaterThan(0);
    expect((await call(harness, "/v2/health/ready", { headers })).status).toBe(200);
  });

  test.each([
    [{ host: "evil.example", origin: "http://evil.example" }],
    [{ host: "evil.example", origin: "http://evil.example", "sec-fetch-site": "same-origin" }],
    [{ host: "localhost", origin: "http://evil.example" }],
    [{ host: "localhost", "sec-fetch-site": "cross-site" }],
    [{ host: "%", origin: "http://%" }],
  ])("of other sites start no inference by %o", async (headers) => {
    const harness = await served({});
    expect((await call(harness, INFER, { body: BODY, headers })).status).toBe(403);
    expect(harness.executor.batches).toEqual([]);
  });

  test.each([
    [{ host: "127.0.0.1:8000" }],
    [{ host: "10.1.2.3" }],
    [{ host: "[fe80::1]:8000" }],
    [{ host: "LocalHost.:8000" }],
    [{ host: "letters.localhost" }],
    [{ host: "stratagem:8000" }],
    [{ host: hostname() }],
    [{ host: "Tiny.Example:8000" }],
    [{ host: OWN, "sec-fetch-site": "same-origin" }],
    [{ host: "localhost:8000", "sec-fetch-site": "none" }],
    [
      {
        host: "localhost",
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
      },
    ],
  ])("of this server and other clients read all by %o", async (headers) => {
    const harness = await served({}, {}, () => 0, [OWN]);
    for (const path of READ) {
      const asked = await call(harness, path, { headers: { accept: "text/html", ...headers } });
      expect([path, asked.status]).toEqual([path, 200]);
    }
    const origin = `http://${headers.host}`;
    for (const more of [{}, { origin }]) {
      const asked = { body: BODY, headers: { host: headers.host, ...more } };
      expect((await call(harness, INFER, asked)).status).toBe(200);
    }
  });

  test("are judged by the host of a target in absolute form", async () => {
    const harness = await served({});
    const ask = async (target: string) => {
      const { hostname: host, port } = new URL(harness.server.url);
      const socket = connect(Number(port), host);
      socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      return (await text(socket)).slice(9, 12);
    };
    expect(await ask("http://evil.example/metrics")).toBe("403");
    expect(await ask("http://localhost@evil.example/metrics")).toBe("403");
    expect(await ask("http://localhost:8000/metrics")).toBe("200");
  });

  test("of an allowed name are own, and clients of inference may use every name", async () => {
    const own = { host: "app.example", "sec-fetch-site": "same-origin" };
    const named = await served({ corsOrigins: [origin] });
    for (const path of READ) expect((await call(named, path, { headers: own })).status).toBe(200);
    const plain = await served({});
    const headers = { host: "letters.default.svc.cluster.local" };
    expect((await call(plain, INFER, { body: BODY, headers })).status).toBe(200);
    expect((await call(plain, "/v2/models/tiny", { headers })).status).toBe(200);
    const tokens = await served({ tokens: tokenFile(TOKENS) });
    for (const [path, name] of [
      ["/metrics", "metrics"],
      ["/admin/state", "admin"],
    ] as const) {
      const asked = { headers: { ...headers, ...bearer(name) } };
      expect((await call(tokens, path, asked)).status).toBe(200);
    }
  });

  test("may not administer unless their origin is named", async () => {
    const closed = await served({});
    const reload = { method: "POST", headers: { origin }, body: "" };
    expect((await call(closed, "/admin/reload", reload)).status).toBe(403);
    const open = await served({ corsOrigins: [origin] });
    expect((await call(open, "/admin/reload", reload)).status).toBe(200);
  });
});

describe("the door for administrators", () => {
  test("reads again, one application or all, and tells settings and state", async () => {
    const harness = await served({});
    const reload = (body: string) => call(harness, "/admin/reload", { body });
    expect(jsonOf(await reload(""))).toEqual({
      ...{ followed: true, notice: "read again", applications: [] },
    });
    expect((await reload('{"application":"other"}')).status).toBe(404);
    const broken = await reload('{"application":"broken"}');
    expect([broken.status, jsonOf(broken).error]).toEqual([409, "read again"]);
    expect((await reload('{"application":1}')).status).toBe(400);
    expect((await reload('{"app":"x"}')).status).toBe(400);
    expect((await reload("[]")).status).toBe(400);
    expect(jsonOf(await call(harness, "/admin/config"))).toEqual({ settings: {} });
    expect(jsonOf(await call(harness, "/admin/state")).access).toMatchObject({ tls: null });
    expect((await call(harness, "/admin/reload")).status).toBe(405);
    expect((await call(harness, "/admin/config", { body: "" })).status).toBe(405);
    expect((await call(harness, "/admin")).status).toBe(404);
    expect((await call(harness, "/admin/state/more")).status).toBe(404);
  });

  test("may be apart, and so may metrics: then neither is with the rest", async () => {
    const any = { host: "127.0.0.1", port: 0 };
    const { server } = await served({}, { adminAt: any, metricsAt: any });
    const urls = [server.url, server.adminUrl, server.metricsUrl];
    expect(new Set(urls).size).toBe(3);
    const paths = ["/v2/health/ready", "/v2", "/metrics", "/admin/state", "/%61dmin/state"];
    const statuses = urls.map((url) =>
      Promise.all(paths.map(async (path) => (await fetch(url + path)).status)),
    );
    expect(await Promise.all(statuses)).toEqual([
      [200, 200, 404, 404, 404],
      [200, 404, 404, 200, 200],
      [200, 404, 200, 404, 404],
    ]);
    const roots = urls.map(async (url) => {
      const root = await fetch(url, { headers: { accept: "text/html" } });
      return root.headers.get("content-type");
    });
    const json = "application/json";
    expect(await Promise.all(roots)).toEqual([json, json, "text/html; charset=utf-8"]);
  });

  test("one listener may be for both", async () => {
    const probe = await served({});
    const { port } = new URL(probe.server.url);
    await closeAll();
    const at = { host: "127.0.0.1", port: Number(port) };
    const { server } = await served({}, { adminAt: at, metricsAt: at });
    expect(server.adminUrl).toBe(server.metricsUrl);
    for (const path of ["/metrics", "/admin/state"]) {
      expect((await fetch(server.adminUrl + path)).status).toBe(200);
      expect((await fetch(server.url + path)).status).toBe(404);
    }
  });

  test("a listener that cannot be opened leaves none open, and is named by its flag", async () => {
    const taken = await served({});
    const { port } = new URL(taken.server.url);
    const adminAt = { host: "127.0.0.1", port: Number(port) };
    await expect(served({}, { adminAt })).rejects.toThrow(
      /the address is in use; choose another with --admin/,
    );
  });

  test("serves this machine alone where nobody shows who they are", async () => {
    const access = await Access.open({}, { nowMs: () => 0 });
    const ask = (address: string, isOwnListener = false) =>
      access.admit({ need: "admin", authorization: undefined, address, isOwnListener });
    expect(ask("10.0.0.9")).toBeInstanceOf(HttpError);
    expect(ask("10.0.0.9", true)).not.toBeInstanceOf(HttpError);
    expect(ask("::ffff:127.0.0.1")).not.toBeInstanceOf(HttpError);
  });
});

describe("an address that others reach", () => {
  test.each([
    [{}, "0.0.0.0", /^warning: any client that reaches 0\.0\.0\.0 may send requests: set --tokens/],
    [{}, "127.0.0.1", null],
    [{ tokens: "yes" }, "0.0.0.0", /^warning: tokens are sent to 0\.0\.0\.0 as plain text/],
  ])("with %o at %s", async (options, host, expected) => {
    const notices: string[] = [];
    const access = "tokens" in options ? { tokens: tokenFile(TOKENS) } : {};
    await served(access, { host, onNotice: (message) => notices.push(message) });
    expect(notices).toHaveLength(expected === null ? 0 : 1);
    if (expected !== null) expect(notices[0]).toMatch(expected);
  });
});

test.each([
  ["ModelInfer", "infer"],
  ["ModelStreamInfer", "infer"],
  ["ServerLive", "open"],
  ["Check", "open"],
  ["RepositoryModelLoad", "admin"],
  ["TraceSetting", "admin"],
  ["LogSettings", "admin"],
  ["constructor", "infer"],
])("the rpc %s needs %s", (rpc, need) => {
  expect(needOfRpc(rpc)).toBe(need);
});
