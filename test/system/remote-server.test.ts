/** A server of ours, as a front end sees one that is to be a worker. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ServerRefusal } from "../../runtime/remote/asked-batch.ts";
import { configMistake } from "../../runtime/remote/held-models.ts";
import { HttpConnection } from "../../runtime/remote/http-connection.ts";
import { computedOf } from "../../runtime/remote/stated-hops.ts";
import { compileEcho } from "../support/echo-bundle.ts";
import { startStratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-remote-server-"));
const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
afterAll(() => {
  for (const end of ends.reverse()) end();
});

async function served(): Promise<{ readonly url: string }> {
  const flags = ["--policy", compileEcho(folder), "--http", "127.0.0.1:0", "--json"];
  const child = startStratagem("serve", ...flags);
  ends.push(() => child.kill("SIGKILL"));
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  return JSON.parse(text);
}

test("is ready, described, refused for its batches, asked, and tells its statistics", async () => {
  const { url } = await served();
  const tensor = { name: "x", dtype: "float32", shape: [-1, 3] };
  const values = Float32Array.from([1, 2, 3, 4, 5, 6]);
  const connection = new HttpConnection(url, () => Promise.resolve(null));
  ends.push(() => connection.close());
  await connection.expectReady(10_000);
  const told = await connection.describe("echo");
  expect(told?.inputs).toEqual([tensor]);
  const [output] = told?.outputs ?? [];
  if (output === undefined) throw new Error("the model has an output");
  expect(await connection.describe("none")).toBeNull();
  const mistake = configMistake(await connection.configOf("echo"), { warmBatches: [1] });
  expect(mistake).toMatch(/expected a configuration without dynamic_batching/);
  const before = computedOf(await connection.statisticsOf("echo"));
  const batch = {
    model: "echo",
    id: "a batch",
    inputs: [{ info: tensor, shape: [2, 3], chunks: [new Uint8Array(values.buffer)] }],
    outputs: [output],
    lease: null,
    timeLeftMs: 10_000,
  };
  const answer = await connection.infer(batch, () => {}).answer;
  expect(answer.outputs[0]?.shape).toEqual([2, 3]);
  const bytes = answer.outputs[0]?.bytes ?? new Uint8Array();
  expect([...new Float32Array(bytes.buffer)]).toEqual([...values]);
  const after = computedOf(await connection.statisticsOf("echo"));
  expect((after?.count ?? 0) - (before?.count ?? 0)).toBe(1);
  expect((after?.ms ?? 0) - (before?.ms ?? 0)).toBeGreaterThan(0);
  const unknown = connection.infer({ ...batch, model: "none" }, () => {}).answer;
  await expect(unknown).rejects.toThrow(ServerRefusal);
  await expect(unknown).rejects.toMatchObject({ status: 404 });
  const given = connection.infer({ ...batch, id: "given up" }, () => {});
  given.abort("nobody waits");
  await expect(given.answer).rejects.toThrow("nobody waits");
});
