/**
 * Front ends that share workers, cut from their NATS in every way under load: each goes on with
 * the workers it knows, no worker has two front ends, no batch runs twice, and afterwards all is
 * as before.
 */
import { setTimeout as pause } from "node:timers/promises";
import { clusterAt } from "../../test/support/cluster-site.ts";
import { CountedLoad } from "../../test/support/counted-load.ts";
import type { CutLine } from "../../test/support/cut-line.ts";
import {
  executed,
  FrontEndSite,
  metric,
  ownWorkers,
  WIDTH,
} from "../../test/support/front-end-site.ts";
import type { NatsServer } from "../../test/support/nats-server.ts";
import { within } from "../experiments/cluster/within.ts";
import type { Attack, Outcome, Part } from "./part.ts";

const LOOK_MS = 250;
/** A front end whose metrics take longer has no time for health checks either: it may be missed. */
const BUSY_LOOK_MS = 400;
const FLAP_MS = 700;
const SLOW_MS = 400;
/** Until both front ends know that NATS is there, and share the workers as before. */
const CONVERGED_MS = 30_000;
/** For an answer, or for what is to happen by itself. */
const LIMIT_MS = 60_000;
/** Answers that each front end gives during a fault, at least. */
const LEAST_ANSWERED = 20;

interface House {
  readonly nats: NatsServer;
  /** From each front end to NATS. */
  readonly lines: readonly [CutLine, CutLine];
}

interface Partition {
  readonly name: string;
  /** Whether the front ends must say that NATS is away, each. */
  readonly isAway: readonly [boolean, boolean];
  readonly begin: (house: House) => void | Promise<void>;
  readonly end: (house: House) => void | Promise<void>;
}

const ONE = [true, false] as const;
const BOTH = [true, true] as const;

const heal = ({ lines }: House) => {
  for (const line of lines) line.heal();
};

/** What cuts one front end off, by its line. */
function ofLine(
  name: string,
  act: (line: CutLine) => void,
  isAway: Partition["isAway"] = ONE,
): Partition {
  return { name, isAway, begin: ({ lines: [one] }) => act(one), end: heal };
}

function flapping(): Partition {
  let timer: NodeJS.Timeout | undefined;
  let isCut = false;
  return {
    name: "one is cut and healed in turn",
    isAway: [false, false],
    begin: ({ lines: [one] }) => {
      timer = setInterval(() => {
        isCut = !isCut;
        if (isCut) one.cut();
        else one.heal();
      }, FLAP_MS);
    },
    end: (house) => {
      clearInterval(timer);
      heal(house);
    },
  };
}

const PARTITIONS: readonly Partition[] = [
  ofLine("one is cut off", (line) => line.cut()),
  ofLine("one is not heard", (line) => line.cut("up")),
  ofLine("one does not hear", (line) => line.cut("down")),
  ofLine("one's connection is half open", (line) => line.halve()),
  ofLine(`one's line takes ${SLOW_MS} ms each way`, (line) => line.slow(SLOW_MS), [false, false]),
  flapping(),
  {
    name: "both are cut off",
    isAway: BOTH,
    begin: ({ lines }) => {
      for (const line of lines) line.cut();
    },
    end: heal,
  },
  {
    name: "NATS stands still",
    isAway: BOTH,
    begin: ({ nats }) => nats.signal("SIGSTOP"),
    end: ({ nats }) => nats.signal("SIGCONT"),
  },
  {
    name: "NATS is killed, and starts again",
    isAway: BOTH,
    begin: ({ nats }) => nats.kill(),
    end: ({ nats }) => nats.start(),
  },
];

export const PARTITIONS_OF_NATS: Part = {
  name: "partitions",
  about: "cuts front ends from NATS, one way, both, half open, slow, under load; needs nats-server",
  unit: "s of each partition",
  sizes: { full: 12, short: 5 },
  minutes: 6,
  run,
};

async function run({ size, say }: Attack): Promise<Outcome> {
  const house = new FrontEndSite();
  try {
    return await runAt(house, size, say);
  } finally {
    await house.end();
    house.site.remove();
  }
}

async function runAt(
  house: FrontEndSite,
  seconds: number,
  say: (line: string) => void,
): Promise<Outcome> {
  const nats = await house.site.nats();
  const lines = [await house.site.line(nats.port), await house.site.line(nats.port)] as const;
  const { path, workers } = await house.startAll(clusterAt(nats.port), "parted");
  const started = lines.map(({ port }, at) =>
    house.startFrontEnd(clusterAt(port), `front-${at}`, path),
  );
  const urls = (await Promise.all(started)).map(({ url }) => url);
  const isShared = async () => {
    const counts = await Promise.all(urls.map(ownWorkers));
    return counts.every((count) => count > 0) && sumOf(counts) === workers.length;
  };
  await within(until(isShared), LIMIT_MS, "the first sharing");
  for (const url of urls) await within(house.untilAnswered(url), LIMIT_MS, "an answer");
  const before = await executed(workers);
  const lost: string[] = [];
  const figures: Record<string, string> = {};
  let [sent, answered, failed, busy] = [0, 0, 0, 0];
  for (const partition of PARTITIONS) {
    const loads = urls.map((url) => new CountedLoad(house.edge, url, WIDTH));
    const counted = () => loads.map((load) => load.answered);
    await within(Promise.all(loads.map((load) => load.answeredMore(20))), LIMIT_MS, "answers");
    const shares = await Promise.all(urls.map(ownWorkers));
    await partition.begin({ nats, lines });
    const first = counted();
    const seen = await watched(urls, 1000 * seconds);
    const during = counted().map((count, at) => count - (first[at] ?? 0));
    await partition.end({ nats, lines });
    const healedMs = performance.now();
    const isBack = async () => (await awayOf(urls)).every((away) => !away) && (await isShared());
    const back = within(until(isBack), CONVERGED_MS, "one state of all");
    const convergedMs = await back.then(
      () => performance.now() - healedMs,
      () => Number.POSITIVE_INFINITY,
    );
    await within(Promise.all(loads.map((load) => load.end())), LIMIT_MS, "the last answers");
    const failures = loads.flatMap((load) => load.failures);
    sent += loads.reduce((sum, load) => sum + load.sent, 0);
    answered += loads.reduce((sum, load) => sum + load.answered, 0);
    failed += failures.length;
    const harms: string[] = [];
    const isBusy = seen.longestMs > BUSY_LOOK_MS;
    if (isBusy) busy++;
    if (failures.length > 0 && !isBusy)
      harms.push(`${failures.length} failed: ${[...new Set(failures)]}`);
    for (const [at, count] of during.entries()) {
      if (count < LEAST_ANSWERED && !isBusy)
        harms.push(`front end ${at} answered ${count} meanwhile`);
      if (partition.isAway[at] === true && !seen.away[at])
        harms.push(`${at} never said it is away`);
    }
    if (seen.most > workers.length && !isBusy)
      harms.push(`${seen.most} workers owned of ${workers.length}`);
    if (convergedMs === Number.POSITIVE_INFINITY) harms.push("they did not come to one state");
    const told =
      `answered meanwhile ${during.join(" and ")}, failed ${failures.length}, ` +
      `longest look ${seen.longestMs.toFixed(0)} ms, ` +
      `workers ${shares.join("+")}, at most ${seen.most} of ${workers.length}, ` +
      `as before after ${(convergedMs / 1000).toFixed(1)} s`;
    say(`${partition.name}: ${told}${harms.length === 0 ? "" : ` LOST ${harms.join("; ")}`}`);
    figures[partition.name] = told;
    lost.push(...harms.map((harm) => `${partition.name}: ${harm}`));
  }
  const after = await executed(workers);
  const [rows, doubled] = [after.rows - before.rows, after.doubled - before.doubled];
  if (rows < answered || rows > answered + failed) {
    lost.push(`${answered} were answered, ${failed} failed, and ${rows} rows ran`);
  }
  if (doubled > 0) lost.push(`${doubled} batches were shown to a worker twice`);
  figures["requests"] = `sent ${sent}, answered ${answered}, run ${rows}, shown twice ${doubled}`;
  figures["on a machine too busy"] = `${busy}`;
  return { tried: PARTITIONS.length, lost, figures };
}

/** What is seen in a time: who said that NATS is away, and how many workers were owned at most. */
async function watched(urls: readonly string[], ms: number) {
  const away = urls.map(() => false);
  const endMs = performance.now() + ms;
  let [most, longestMs] = [0, 0];
  while (performance.now() < endMs) {
    const startMs = performance.now();
    for (const [at, is] of (await awayOf(urls)).entries()) away[at] ||= is;
    // Both figures of each front end, one after the other.
    most = Math.max(most, await owned(urls));
    longestMs = Math.max(longestMs, (performance.now() - startMs) / 2);
    await pause(LOOK_MS);
  }
  return { away, most, longestMs };
}

async function awayOf(urls: readonly string[]): Promise<boolean[]> {
  return Promise.all(urls.map(async (url) => (await metric(url, "stratagem_cluster_away")) === 1));
}

/** By all front ends together. */
async function owned(urls: readonly string[]): Promise<number> {
  return sumOf(await Promise.all(urls.map(ownWorkers)));
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(LOOK_MS);
}
