/** Several front ends that share workers over a real NATS, and what becomes of it when some go. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, expect } from "vitest";
import { PARTITIONS_OF_NATS } from "../../lab/campaign/partitions.ts";
import { clusterPackages } from "../../runtime/features/cluster/nats-packages.ts";
import { clusterAt } from "../support/cluster-site.ts";
import { CLIENTS, CountedLoad } from "../support/counted-load.ts";
import {
  ended,
  executed,
  FrontEndSite,
  metric,
  ownWorkers,
  untilShare,
  WIDTH,
} from "../support/front-end-site.ts";
import { HAS_NATS_SERVER } from "../support/nats-server.ts";
import { untilTrue } from "../support/until-true.ts";
import { testWith } from "./needs.ts";

const packages = await clusterPackages("test").catch(() => null);
const parts = "nats-server and the packages @nats-io/transport-node, jetstream, kv and obj";
const test = testWith(parts, HAS_NATS_SERVER && packages !== null);

const house = new FrontEndSite();
const { site, edge } = house;

afterEach(() => house.end());
afterAll(() => site.remove());

test("front ends come, are killed and stopped under load, and no batch runs twice", async () => {
  const nats = await site.nats();
  const cluster = clusterAt(nats.port);
  const { path, workers } = await house.startAll(cluster, "shared");
  const one = await house.startFrontEnd(cluster, "one", path);
  await untilShare(one.url, 3);
  await house.untilAnswered(one.url);
  const first = new CountedLoad(edge, one.url, WIDTH);
  await first.answeredMore(100);

  // Workers move to a second one while the first serves.
  const two = await house.startFrontEnd(cluster, "two", path);
  await untilShare(two.url, 1);
  await untilShare(one.url, 2);
  await house.untilAnswered(two.url);
  const second = new CountedLoad(edge, two.url, WIDTH);
  await Promise.all([first.answeredMore(100), second.answeredMore(100)]);
  expect(first.failures).toEqual([]);

  await ended(one.child, "SIGKILL");
  const killedMs = performance.now();
  await untilShare(two.url, 3);
  const takenMs = performance.now() - killedMs;
  await first.end();
  expect(first.failures.length).toBeGreaterThan(0);
  await second.answeredMore(100);
  expect(second.failures).toEqual([]);

  // A third one comes, and the second is stopped once its clients have gone to that.
  const three = await house.startFrontEnd(cluster, "three", path);
  await untilShare(three.url, 1);
  await house.untilAnswered(three.url);
  const third = new CountedLoad(edge, three.url, WIDTH);
  await third.answeredMore(100);
  await second.end();
  await ended(two.child, "SIGTERM");
  await untilShare(three.url, 3);
  await third.answeredMore(100);
  await third.end();
  expect([...second.failures, ...third.failures]).toEqual([]);

  const loads = [first, second, third];
  // Beside the loads, each front end was asked once for the answer that says that it serves.
  const sent = loads.reduce((sum, load) => sum + load.sent, 0) + 3;
  const answered = loads.reduce((sum, load) => sum + load.answered, 0) + 3;
  const ran = await executed(workers);
  expect(ran.rows).toBeGreaterThanOrEqual(answered);
  // What the first one had under way when it was killed may have run, and nothing else.
  expect(ran.rows).toBeLessThanOrEqual(answered + CLIENTS);
  expect(ran.doubled).toBe(0);
  const counts = `sent ${sent}, answered ${answered}, run ${ran.rows}`;
  process.stdout.write(`taken over in ${Math.round(takenMs)} ms; ${counts}\n`);
});

test("a front end whose line to NATS is cut goes on with its workers while it serves", async () => {
  const nats = await site.nats();
  const cluster = clusterAt(nats.port);
  const line = await site.line(nats.port);
  const { path } = await house.startAll(cluster, "kept");
  const one = await house.startFrontEnd(clusterAt(line.port), "one", path);
  await untilShare(one.url, 3);
  const two = await house.startFrontEnd(cluster, "two", path);
  await untilShare(two.url, 1);
  await untilShare(one.url, 2);
  for (const { url } of [one, two]) await house.untilAnswered(url);
  const told = await (await fetch(`${one.url}/v2/health/ready`)).json();
  expect(told).toMatchObject({ ready: true, frontEnd: expect.stringMatching(/^one-/) });
  const loads = [one, two].map(({ url }) => new CountedLoad(edge, url, WIDTH));
  line.cut();
  await untilTrue("a front end says that NATS is away", async () => {
    return (await metric(one.url, "stratagem_cluster_away")) === 1;
  });
  // Longer than a lease, and all the while both are asked.
  await pause(5000);
  for (const load of loads) await load.answeredMore(100);
  expect([await ownWorkers(one.url), await ownWorkers(two.url)]).toEqual([2, 1]);
  for (const load of loads) await load.end();
  expect(loads.flatMap(({ failures }) => failures)).toEqual([]);
});

test("of a NATS of three the leader is killed: serving and then membership go on", async () => {
  const trio = await site.trio();
  const { path, models } = await house.startAll(trio.url, "trio");
  const served = await house.startFrontEnd(trio.url, "only", path);
  await untilShare(served.url, 3);
  await house.untilAnswered(served.url);
  const { leader, replicas } = await trio.leader("tried");
  expect(replicas).toBe(3);
  const load = new CountedLoad(edge, served.url, WIDTH);
  await load.answeredMore(100);
  await trio.killOne(leader);
  await load.answeredMore(100);
  // Leases can be written again only once there is another leader.
  await house.startWorker(trio.url, "w4", models);
  await untilShare(served.url, 4);
  expect((await trio.leader("tried", leader)).leader).not.toBe(leader);
  await load.answeredMore(100);
  await load.end();
  expect(load.failures).toEqual([]);
});

test("front ends that are cut from NATS in every way go on, and come back", async () => {
  const { sizes, run } = PARTITIONS_OF_NATS;
  const folder = site.folder("partitions");
  const { tried, lost } = await run({ size: sizes.short, seed: 1, folder, say: () => {} });
  expect(tried).toBeGreaterThan(0);
  expect(lost).toEqual([]);
});
