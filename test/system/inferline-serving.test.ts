/** The whole way: HTTP, the decision core, worker processes and models. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import { type RealServer, realServer } from "../runtime/server/graph/real-server.ts";
import {
  type CascadeRow,
  expectedOutputs,
  servedStages,
  writeModels,
} from "../runtime/server/graph/served-tasks.ts";
import { ofOneModel } from "../support/metrics-text.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-stages-"));
writeModels(folder);
afterAll(() => rmSync(folder, { recursive: true }));

let open: RealServer | undefined;
afterEach(() => open?.server.close());

async function serving(bundle: InferlineBundle, nowMs?: () => number): Promise<RealServer> {
  open = await realServer(bundle, folder, nowMs);
  return open;
}

interface Answer {
  readonly outputs: readonly { name: string; shape: number[]; data: number[] }[];
}

const ALL = Object.keys(expectedOutputs([])).map((name) => ({ name }));

function infer(url: string, rows: readonly CascadeRow[]): Promise<Response> {
  const data = rows.map(({ escalate, keep, value }) => [escalate, keep, value]);
  const input = { name: "x", datatype: "FP32", shape: [rows.length, 3], data };
  const body = JSON.stringify({ inputs: [input], outputs: ALL });
  return fetch(`${url}/v2/models/stages/infer`, { method: "POST", body });
}

async function expectAnswered(reply: Response, rows: readonly CascadeRow[]): Promise<void> {
  expect(reply.status).toBe(200);
  const { outputs } = (await reply.json()) as Answer;
  const byName = Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
  expect(byName).toEqual(expectedOutputs(rows));
}

function rowsOf(client: number, round: number): CascadeRow[] {
  return Array.from({ length: 1 + ((client + round) % 4) }, (_, row) => ({
    escalate: (client + round + row) & 1,
    keep: ((3 * client + round + row) >> 1) & 1,
    value: client * 1000 + round * 10 + row,
  }));
}

/** Runs the clients side by side, each its rounds one after the other. */
async function clients(
  count: number,
  rounds: number,
  ask: (client: number, round: number) => Promise<void>,
) {
  const client = async (index: number) => {
    for (let round = 0; round < rounds; round++) await ask(index, round);
  };
  await Promise.all(Array.from({ length: count }, (_, index) => client(index)));
}

test("answers every client with its own rows, whichever way each of them went", async () => {
  const { url } = await serving(servedStages({ sloMs: 30_000 }));
  await clients(8, 20, async (client, round) => {
    const rows = rowsOf(client, round);
    await expectAnswered(await infer(url, rows), rows);
  });
  const text = ofOneModel(await (await fetch(`${url}/metrics`)).text());
  expect(text).toContain('stratagem_task_workers{task="slow",variant="slow",state="ready"} 2\n');
  expect(text).toContain('stratagem_workers_lost_total{reason="ended"} 0\n');
});

test("replicas come and go under load, and no request is lost", async () => {
  const clock = { nowMs: 0 };
  const bundle = servedStages({
    // A beat is 1 s of the clock.
    sloMs: 100,
    policy: { tuner: "relative" },
    levels: [
      {
        loadQps: 1,
        stages: [
          [4, 1],
          [2, 1],
          [4, 1],
        ],
        envelope: [
          [1000, 4],
          [60_000, 60],
        ],
        // Four clients may come together.
        peakQps: 4,
      },
    ],
  });
  const { url, executor } = await serving(bundle, () => clock.nowMs);
  const replicas = async () => {
    const text = ofOneModel(await (await fetch(`${url}/metrics`)).text());
    const of = (state: string) =>
      [
        ...text.matchAll(new RegExp(`^stratagem_task_workers{.*state="${state}"} (\\d+)$`, "gm")),
      ].map(([, count]) => Number(count));
    return { target: of("target"), assigned: of("assigned"), ready: of("ready") };
  };
  const until = async (assigned: readonly number[]) => {
    const isThere = (now: Awaited<ReturnType<typeof replicas>>) =>
      `${now.assigned}` === `${assigned}` && `${now.ready}` === `${assigned}`;
    while (!isThere(await replicas())) await new Promise(setImmediate);
  };
  expect(await replicas()).toMatchObject({ target: [1, 1, 1], ready: [1, 1, 1] });
  let sent = 0;
  // The clock stands still while a round is answered, so that none is late.
  const rounds = async (count: number, gapMs: number, clientCount: number) => {
    for (let round = 0; round < count; round++) {
      clock.nowMs += gapMs;
      await clients(clientCount, 1, async (client) => {
        const rows = rowsOf(client, round);
        sent += rows.length;
        await expectAnswered(await infer(url, rows), rows);
      });
    }
  };
  await rounds(20, 300, 6);
  // Each task is to have more, of the six workers two each.
  await until([2, 2, 2]);
  expect((await replicas()).target).toEqual([6, 6, 6]);
  await rounds(20, 300, 6);
  await rounds(40, 5000, 1);
  await until([1, 1, 1]);
  expect(executor.pids().slots.filter((pid) => pid !== undefined)).toHaveLength(3);
  await rounds(20, 300, 6);
  await until([2, 2, 2]);
  const text = ofOneModel(await (await fetch(`${url}/metrics`)).text());
  expect(text).toContain(`stratagem_queries_total{outcome="satisfied"} ${sent}\n`);
  expect(text).toMatch(
    /stratagem_scaling_actions_total{task="gate",resource="workers",direction="down"} [1-9]/,
  );
  expect(text).toContain('stratagem_workers_lost_total{reason="ended"} 0\n');
});

test("a killed worker takes only its batch along, and its task comes back", async () => {
  const { url, server, executor } = await serving(servedStages({ sloMs: 30_000 }));
  const statuses: number[] = [];
  let killed = 0;
  await clients(6, 30, async (client, round) => {
    const rows = rowsOf(client, round);
    const reply = await infer(url, rows);
    statuses.push(reply.status);
    if (reply.status === 200) await expectAnswered(reply, rows);
    else expect(await reply.json()).toEqual({ error: expect.stringMatching(/.+/) });
    if (client !== 0 || round % 15 !== 5) return;
    const pids = executor.pids().slots.filter((pid) => pid !== undefined);
    const pid = pids[killed++ % pids.length];
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  });
  expect(killed).toBe(2);
  // No kill harms more requests than are in the house.
  expect(statuses.filter((status) => status !== 200).length).toBeLessThanOrEqual(2 * 6);
  while (!server.isReady()) await new Promise(setImmediate);
  const rows = rowsOf(1, 1);
  await expectAnswered(await infer(url, rows), rows);
});
