/** The ready files of docs/compile.md: they run shards that exist, each once. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { readShard } from "../../compiler/sharding/shard.ts";
import { faultsOf } from "../compiler/manifests/kubernetes-schemas.ts";

const file = (name: string) => parse(readFileSync(`docs/ci/${name}`, "utf8"));

test("the matrix has each shard of as many as it says", () => {
  const { env, jobs } = file("shards-github.yml");
  const shards: readonly number[] = jobs.shard.strategy.matrix.shard;
  const numbers = shards.map((shard) => readShard(`${shard}/${env.SHARDS}`)?.number);
  expect(numbers).toEqual(Array.from({ length: env.SHARDS }, (_, index) => index + 1));
  expect(jobs.merge.needs).toBe("shard");
});

test("the Indexed Job has an index for each shard of as many as it asks for", () => {
  const { spec } = file("shards-job.yaml");
  const [{ args }] = spec.template.spec.containers;
  const asked = /--shard "\$shard\/(\d+)"/.exec(args[0])?.[1];
  expect(args[0]).toContain('shard="$((JOB_COMPLETION_INDEX + 1))"');
  expect(spec).toMatchObject({ completionMode: "Indexed", completions: Number(asked) });
  expect(readShard(`${spec.completions}/${asked}`)).toBeDefined();
});

test("the Indexed Job is one by the published schema, which would refuse another", () => {
  const job = file("shards-job.yaml");
  expect(faultsOf(job)).toEqual([]);
  const misspelt = { ...job, spec: { ...job.spec, completion: 20 } };
  expect(faultsOf(misspelt).join()).toContain("must NOT have additional properties");
  const { template: _, ...without } = job.spec;
  expect(faultsOf({ ...job, spec: without }).join()).toContain("template");
});
