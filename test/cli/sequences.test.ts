/** A model with state from its spec to answers: compiled, and served. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { refusedHere } from "../support/compile-here.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";
import { WIDTH, writeSummingApplication } from "../support/summing-application.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-sequences-"));
const running: ReturnType<typeof startStratagem>[] = [];

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** On a connection of its own. */
function add(url: string, value: number, parameters: object): Promise<string> {
  const data = Array.from({ length: WIDTH }, () => value);
  const inputs = [{ name: "x", datatype: "FP32", shape: [1, WIDTH], data }];
  return new Promise((resolve, reject) => {
    const path = `${url}/v2/models/sums/infer`;
    const asked = request(path, { method: "POST", agent: false }, async (response) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      const { error, outputs } = JSON.parse(body);
      resolve(error ?? outputs.map(({ name, data: sum }: never) => `${name} ${sum}`).join());
    });
    asked.on("error", reject);
    asked.end(JSON.stringify({ inputs, parameters }));
  });
}

test("keeps the state of each sequence, whichever connection has the next request", async () => {
  const app = writeSummingApplication(folder);
  const policy = join(folder, "bundle.msgpack");
  expect(stratagem("compile", app, "-o", policy).stderr).toBe("");
  const child = startStratagem(
    ...["serve", "--policy", policy, "--http", "127.0.0.1:0", "--json", "--no-means-check"],
  );
  running.push(child);
  const url = await urlOf(child);
  expect(await add(url, 1, { sequence_id: "one", sequence_start: true })).toBe("y 1,1,1");
  for (let count = 2; count <= 9; count++) {
    const sums = `y ${count},${count},${count}`;
    expect(await add(url, 1, { sequence_id: "one" })).toBe(sums);
  }
  const steps = [1, 2, 3, 4, 5];
  const streams = [11, 12, 13, 14, 15, 16].map(async (id) => {
    const told: string[] = [];
    for (const step of steps) {
      const sequence_start = step === 1;
      told.push(await add(url, id, { sequence_id: id, sequence_start, sequence_end: step === 5 }));
    }
    expect(told).toEqual(
      steps.map(
        (step) =>
          `y ${Array(WIDTH)
            .fill(id * step)
            .join()}`,
      ),
    );
  });
  await Promise.all(streams);
  const refused = await add(url, 1, { sequence_id: 1 });
  expect(refused).toMatch(
    /^inference request for sequence 1 to model 'sums' must specify the START/,
  );
  expect(await add(url, 1, { sequence_id: 0 })).toMatch(
    /^parameters.sequence_id: expected a whole/,
  );
  const bench = ["bench", url, "--arrivals", "poisson:50", "--duration", "300ms", "--json"];
  const { stdout } = stratagem(...bench);
  const { queries, satisfied } = JSON.parse(stdout);
  expect(queries).toBeGreaterThan(0);
  expect(satisfied).toBe(queries);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('stratagem_sequences{model="sums"} 1');
  // Two rows of three floats.
  expect(metrics).toContain('stratagem_buffered_bytes{model="sums",what="sequence_states"} 24');
}, 60_000);

test("state that there is not, and state in another method, are refused by place", async () => {
  const misspelt = writeSummingApplication(folder, { state: { nxt: "sum" } });
  const out = join(folder, "refused.msgpack");
  expect((await refusedHere(misspelt, out)).stderr).toMatch(
    /state.nxt: sum.onnx has no output "nxt"; its outputs are "y", "next"/,
  );
  const elsewhere = writeSummingApplication(folder, { policy: { method: "loki" } });
  expect((await refusedHere(elsewhere, out)).stderr).toContain(
    "tasks[0].variants[0].state: loki keeps no state between requests; ramsis does",
  );
});
