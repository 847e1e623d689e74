/** Debian's Prometheus scrapes two servers: what it computes of both, and of the shipped files. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect } from "vitest";
import { stringify } from "yaml";
import { dashboardExpressions } from "../../lab/monitoring/dashboard.ts";
import type { Sample } from "../../runtime/base/exposition.ts";
import {
  call,
  closeAll,
  INFER,
  inferJson,
  serve,
  servedBundle,
} from "../runtime/server/harness.ts";
import { quantileOf } from "../support/bucket-quantile.ts";
import { testWith } from "./needs.ts";

const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "stratagem-prometheus-"));
let prometheus: ChildProcess | undefined;
afterAll(async () => {
  prometheus?.kill();
  await closeAll();
  rmSync(folder, { recursive: true, force: true });
});

/** A server that has answered so many requests, one a second, with a promise of latencies. */
async function answering(requests: number, p99: number) {
  const bundle = servedBundle();
  const latencyMs = { p50: p99 / 4, p95: p99 / 2, p99, max: 2 * p99 };
  const queueMs = { p50: 0, p95: p99 / 8, p99: p99 / 4, max: p99 };
  const levels = bundle.levels.map((level) => {
    return { ...level, expected: { ...level.expected, latencyMs, queueMs } };
  });
  const harness = await serve({ bundle: { ...bundle, levels } });
  const { server, executor, clock } = harness;
  executor.isHolding = true;
  for (let count = 1; count <= requests; count++) {
    const answer = call(harness, INFER, { body: inferJson([[1, 2]]) });
    await executor.ran(count);
    clock.nowMs += 2 + (count % 40);
    executor.finish();
    expect((await answer).status).toBe(200);
    clock.nowMs += 1000;
  }
  return server;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

testWith("Prometheus", hasPrometheus)("two servers are added, measured and predicted", async () => {
  const servers = [await answering(30, 20), await answering(90, 80)];
  const port = await freePort();
  const targets = servers.map(({ url }) => new URL(url).host);
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [resolve("docs/deploy/alerts.yaml")],
    scrape_configs: [{ job_name: "stratagem", static_configs: [{ targets }] }],
  };
  const path = join(folder, "prometheus.yaml");
  writeFileSync(path, stringify(config));
  prometheus = spawn("prometheus", [
    ...[`--config.file=${path}`, `--storage.tsdb.path=${join(folder, "data")}`],
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const asked = async (query: string) => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`;
    const { status, data, error } = JSON.parse(await (await fetch(url)).text());
    expect([status, error]).toEqual(["success", undefined]);
    return data.result as { readonly value: readonly [number, string] }[];
  };
  const isScraped = async () => {
    try {
      const [sum] = await asked("sum(stratagem_request_duration_seconds_count)");
      return sum?.value[1] === "120";
    } catch {
      return false;
    }
  };
  for (const end = Date.now() + 30_000; !(await isScraped()); await pause(100)) {
    expect(Date.now()).toBeLessThan(end);
  }

  const samples = servers.flatMap((server) => server.metricLines());
  for (const [family, figure] of [
    ["stratagem_request_duration_seconds"],
    ["stratagem_service_time_seconds"],
    ["stratagem_expected_seconds", "latency"],
    ["stratagem_expected_seconds", "service_time"],
    ["stratagem_expected_seconds", "queue"],
  ] as const) {
    const own = samples.filter((one): one is Sample => {
      return (
        one.kind === "sample" && one.name === `${family}_bucket` && one.labels["figure"] === figure
      );
    });
    expect(own.length).toBeGreaterThan(70);
    const selected = figure === undefined ? "" : `{figure="${figure}"}`;
    for (const share of [0.5, 0.95, 0.99]) {
      const query = `histogram_quantile(${share}, sum by (le) (${family}_bucket${selected}))`;
      const [found] = await asked(query);
      expect(Number(found?.value[1])).toBeCloseTo(quantileOf(own, share), 9);
    }
  }
  for (const expression of dashboardExpressions()) {
    await asked(expression.replaceAll("$__rate_interval", "5m").replaceAll("$model", ".*"));
  }
  const rules = JSON.parse(await (await fetch(`http://127.0.0.1:${port}/api/v1/rules`)).text());
  const all = rules.data.groups.flatMap((group: { readonly rules: object[] }) => group.rules);
  expect(all.length).toBeGreaterThan(10);
  expect(all.filter(({ health }: { readonly health: string }) => health === "err")).toEqual([]);
});
