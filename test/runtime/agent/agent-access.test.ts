/** Who may send batches to a worker, and over what. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Authority, HAS_OPENSSL } from "../server/access/certificates.ts";
import { agentWith } from "./built-agent.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-tokens-"));
const ours = HAS_OPENSSL ? new Authority("ours") : null;
afterAll(() => {
  rmSync(folder, { recursive: true });
  if (ours !== null) rmSync(ours.folder, { recursive: true });
});

function tokenFile(tokens: Readonly<Record<string, readonly string[]>>): string {
  const lines = Object.entries(tokens).map(([name, scopes]) => {
    const hash = `sha256:${createHash("sha256").update(name).digest("hex")}`;
    return `- ${JSON.stringify({ name, hash, scopes })}\n`;
  });
  const path = join(folder, "tokens");
  writeFileSync(path, lines.join(""));
  return path;
}

test("a front end shows a token for all it asks; probes none", async () => {
  const tokens = tokenFile({ front: ["infer"], watch: ["metrics"] });
  const { client, close } = await agentWith({ access: { tokens } });
  const front = { authorization: "Bearer front" };
  const watch = { authorization: "Bearer watch" };
  expect(await client.get("/v2/health/ready")).toMatchObject({ status: 200 });
  expect(await client.infer("m", {})).toMatchObject({ status: 401 });
  expect(await client.infer("m", { headers: watch })).toMatchObject({ status: 403 });
  expect(await client.infer("m", { headers: front })).toMatchObject({ status: 200 });
  expect(await client.load("m", {})).toMatchObject({ status: 401 });
  expect(await client.load("m", {}, front)).toMatchObject({ status: 200 });
  expect(await client.get("/v2/stratagem/worker")).toMatchObject({ status: 401 });
  expect(await client.get("/v2/stratagem/worker", front)).toMatchObject({ status: 200 });
  expect(await client.get("/metrics", front)).toMatchObject({ status: 403 });
  expect((await client.get("/metrics", watch)).json).toContain(
    'stratagem_agent_batches{state="running"} 0',
  );
  await close();
});

test.skipIf(ours === null)("speaks TLS, and asks for the certificate of a front end", async () => {
  if (ours === null) return;
  const { cert, key } = ours.issue("worker");
  const front = ours.issue("front");
  const tls = { cert, key, clientCa: ours.cert };
  const { url, close } = await agentWith({ load: [], access: { tls } });
  expect(url).toMatch(/^https:/);
  const ask = (more: object) =>
    new Promise<number>((resolve, reject) => {
      const sent = request(`${url}/v2/health/ready`, { ca: ours.pem, agent: false, ...more });
      sent.on("response", (response) => resolve(response.resume().statusCode ?? 0));
      sent.on("error", reject).end();
    });
  const shown = { cert: readFileSync(front.cert), key: readFileSync(front.key) };
  expect(await ask(shown)).toBe(200);
  await expect(ask({})).rejects.toThrow();
  await close();
});
