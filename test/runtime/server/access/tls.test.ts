import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { exposition } from "../../../../runtime/base/exposition.ts";
import { Access, type AccessOptions } from "../../../../runtime/server/access/access.ts";
import { closeAll, type Harness, INFER, inferJson, serve } from "../harness.ts";
import { Authority, HAS_OPENSSL } from "./certificates.ts";

const ours = HAS_OPENSSL ? new Authority("ours") : null;
const theirs = HAS_OPENSSL ? new Authority("theirs") : null;
const opened: Access[] = [];
afterEach(async () => {
  await closeAll();
  for (const access of opened.splice(0)) access.close();
});
afterAll(() => {
  for (const made of [ours, theirs]) if (made !== null) rmSync(made.folder, { recursive: true });
});

async function served(options: AccessOptions, onNotice: (message: string) => void = () => {}) {
  const access = await Access.open(options, { nowMs: () => 0, onNotice });
  opened.push(access);
  const harness = await serve({ access });
  return { harness, access };
}

interface Told {
  readonly status: number;
  readonly body: string;
}

/** Asks over a connection of its own. */
function ask(
  { server }: Harness,
  path: string,
  tls: ConnectionOptions,
  body?: string,
): Promise<Told> {
  const method = body === undefined ? "GET" : "POST";
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { ...tls, method, agent: new Agent() });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.end(body);
  });
}

function handshake(url: string, options: ConnectionOptions): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ...options }, () =>
      resolve(socket),
    );
    socket.on("error", reject);
  });
}

describe.skipIf(ours === null || theirs === null)("TLS, with certificates made by openssl", () => {
  if (ours === null || theirs === null) return;
  const server = ours.issue("server");
  const ca = ours.pem;

  test("requests of all sizes are answered as over a plain connection", async () => {
    const { harness } = await served({ tls: server });
    expect(harness.server.url).toMatch(/^https:/);
    expect((await ask(harness, "/v2/health/ready", { ca })).status).toBe(200);
    const rows = Array.from({ length: 4 }, (_, index) => [index, 2]);
    const { status, body } = await ask(harness, INFER, { ca }, inferJson(rows));
    expect([status, JSON.parse(body).outputs[0].data]).toEqual([200, rows.flat()]);
    // A body that is not wanted is cut, and its refusal is read before.
    const long = await ask(harness, "/v2/repository/index", { ca }, " ".repeat(1 << 20));
    expect(long.status).toBe(413);
  });

  test("a client that does not know the authority does not trust it", async () => {
    const { harness } = await served({ tls: server });
    await expect(ask(harness, "/v2", { ca: theirs.pem })).rejects.toThrow();
  });

  test.each(["TLSv1", "TLSv1.1"] as const)(
    "%s is refused, TLS 1.2 and 1.3 are spoken",
    async (old) => {
      const { harness, access } = await served({ tls: server });
      const { url } = harness.server;
      const versions = { minVersion: old, maxVersion: old, ciphers: "ALL@SECLEVEL=0" } as const;
      await expect(handshake(url, { ca, ...versions })).rejects.toThrow();
      for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
        const socket = await handshake(url, { ca, minVersion: version, maxVersion: version });
        expect(socket.getProtocol()).toBe(version);
        socket.destroy();
      }
      expect(exposition(access.metricLines())).toMatch(
        /^stratagem_connections_ended_total\{reason="tls handshake"\} [1-9]/m,
      );
    },
  );

  test("who speaks plain HTTP is cut, and the server goes on", async () => {
    const { harness } = await served({ tls: server });
    const { hostname, port } = new URL(harness.server.url);
    const socket = connectPlain(Number(port), hostname);
    socket.write("GET /v2/health/live HTTP/1.1\r\nhost: a\r\n\r\n");
    const heard = await new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.on("error", () => {});
      socket.on("close", () => resolve(text));
    });
    expect(heard).not.toContain("200");
    expect((await ask(harness, "/v2/health/live", { ca })).status).toBe(200);
  });

  test("connections that never agree on keys make room for others", async () => {
    const { harness, access } = await served({ tls: server });
    const { hostname, port } = new URL(harness.server.url);
    const silent = Array.from({ length: 300 }, () => connectPlain(Number(port), hostname));
    for (const socket of silent) socket.on("error", () => {});
    const closed = silent.map((socket) => {
      return new Promise<boolean>((resolve) => socket.on("close", () => resolve(true)));
    });
    await Promise.race(closed);
    expect((await ask(harness, "/v2/health/live", { ca })).status).toBe(200);
    expect(exposition(access.metricLines())).toMatch(
      /^stratagem_connections_ended_total\{reason="tls handshake"\} [1-9]/m,
    );
    for (const socket of silent) socket.destroy();
  });

  test("a connection that never agrees on keys does not hold up the end", async () => {
    const { harness } = await served({ tls: server });
    const { hostname, port } = new URL(harness.server.url);
    const silent = connectPlain(Number(port), hostname);
    silent.on("error", () => {});
    await new Promise<void>((resolve) => silent.on("connect", resolve));
    // A whole exchange comes after it, so the server has seen it.
    expect((await ask(harness, "/v2/health/live", { ca })).status).toBe(200);
    await harness.server.close();
  }, 8000);

  describe("with certificates of clients", () => {
    const mutual = { ...server, clientCa: ours.cert };
    const good = ours.issue("client");

    test("lets in whom the authority has signed", async () => {
      const { harness } = await served({ tls: mutual });
      const client = { ca, cert: readFileSync(good.cert), key: readFileSync(good.key) };
      expect((await ask(harness, INFER, client, inferJson([[1, 2]]))).status).toBe(200);
    });

    const others = {
      none: {},
      "another authority's": pairOf(theirs.issue("client")),
      expired: pairOf(ours.issue("late", true)),
    };
    test.each(Object.entries(others))("refuses %s in the handshake", async (_name, client) => {
      const { harness, access } = await served({ tls: mutual });
      await expect(ask(harness, "/v2/health/live", { ca, ...client })).rejects.toThrow();
      expect(exposition(access.metricLines())).toMatch(
        /^stratagem_connections_ended_total\{reason="tls handshake"\} [1-9]/m,
      );
    });

    test("counts as having shown who they are", async () => {
      const { access } = await served({ tls: mutual });
      expect(access.isOpen).toBe(false);
    });
  });

  describe("when files change", () => {
    function files() {
      const [cert, key] = [
        join(ours?.folder ?? "", "now.crt"),
        join(ours?.folder ?? "", "now.key"),
      ];
      const put = (pair: typeof server) => {
        copyFileSync(pair.cert, cert);
        copyFileSync(pair.key, key);
      };
      put(server);
      return { cert, key, put };
    }

    test("new connections get the new certificate, and those that are open go on", async () => {
      const { cert, key, put } = files();
      const { harness, access } = await served({ tls: { cert, key } });
      const { url } = harness.server;
      const kept = new Agent({ keepAlive: true, maxSockets: 1, ca });
      const status = () =>
        new Promise((resolve, reject) => {
          const sent = request(`${url}/v2`, { agent: kept }, (response) => {
            response.resume().on("end", () => resolve(response.statusCode));
          });
          sent.on("error", reject).end();
        });
      expect(await status()).toBe(200);
      const before = await handshake(url, { ca });
      put(ours.issue("next"));
      expect(await access.refresh()).toEqual([]);
      const after = await handshake(url, { ca });
      const names = [before, after].map((socket) => socket.getPeerCertificate().subject.CN);
      expect(names).toEqual(["server", "next"]);
      expect(await status()).toBe(200);
      kept.destroy();
      for (const socket of [before, after]) socket.destroy();
    });

    test("a pair that does not fit leaves the last good one, and it is said", async () => {
      const { cert, key } = files();
      const notices: string[] = [];
      const { harness, access } = await served({ tls: { cert, key } }, (one) => notices.push(one));
      copyFileSync(ours.issue("half").cert, cert);
      expect(await access.refresh()).toEqual([
        expect.stringContaining(`${key}: expected the private key of ${cert}`),
      ]);
      expect(notices.at(-1)).toMatch(/: not reloaded, the previous content stays in force: /);
      const socket = await handshake(harness.server.url, { ca });
      expect(socket.getPeerCertificate().subject.CN).toBe("server");
      socket.destroy();
      writeFileSync(cert, "nothing");
      expect(await access.refresh()).toEqual([expect.stringContaining("certificate in PEM")]);
      rmSync(key);
      expect(await access.refresh()).toEqual([expect.stringContaining("ENOENT")]);
      expect(exposition(access.metricLines())).toContain(
        'stratagem_reload_last_successful{what="tls"} 0',
      );
    });

    test("a certificate that has ended is served, and it is said", async () => {
      const notices: string[] = [];
      await served({ tls: ours.issue("over", true) }, (one) => notices.push(one));
      expect(notices).toEqual([expect.stringMatching(/: the certificate expired on \d{4}-/)]);
    });
  });

  test.each([
    ["key", "expected the private key of"],
    ["cert", "expected a certificate in PEM"],
  ] as const)("a bad %s is refused at the start", async (which, message) => {
    const bad = join(ours.folder, "bad.pem");
    writeFileSync(bad, "-----BEGIN NOTHING-----\n");
    await expect(served({ tls: { ...server, [which]: bad } })).rejects.toThrow(message);
  });
});

function pairOf({ cert, key }: { readonly cert: string; readonly key: string }) {
  return { cert: readFileSync(cert), key: readFileSync(key) };
}
