/** Commands and options that the last release had answer with what to use instead. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { commandOptions } from "../../lab/count/options.ts";
import { trackedFiles } from "../../lab/count/tree.ts";
import { removedCommand, removedOption, removedVariable } from "../../runtime/settings/removed.ts";
import { stratagemHere, stratagemRuntimeHere } from "../support/cli-here.ts";

test("bundles that looked on are simulated on a decision log instead", () => {
  expect(removedCommand("shadow-report")).toContain("simulate NEW --arrivals log:LOG");
  expect(removedOption("serve", "--shadow")).toContain("simulate NEW --arrivals log:LOG");
  expect(removedVariable({ STRATAGEM_SHADOW_SHARE: "1%" })).toMatch(/^STRATAGEM_SHADOW_SHARE was/);
});

test("says nothing of names that were never there", () => {
  expect(removedCommand("serve")).toBe(null);
  expect(removedCommand("constructor")).toBe(null);
  expect(removedOption("serve", "--policy")).toBe(null);
  expect(removedOption("compile", "--toString")).toBe(null);
  expect(removedVariable({ STRATAGEM_POLICY: "a.msgpack" })).toBe(null);
});

test("an option of serve names the one to use instead, as a flag, a variable and a key", () => {
  const maxBody = "use --limit maxBody=VALUE, or maxBody under limits in the file";
  expect(removedOption("serve", "--max-body")).toBe(`serve --max-body was removed: ${maxBody}`);
  expect(removedVariable({ STRATAGEM_MAX_BODY: "1MiB" })).toBe(
    `STRATAGEM_MAX_BODY was removed: ${maxBody}`,
  );
  expect(removedOption("serve", "--pool-device")).toContain("use --device POOL=DEVICE");
});

test("says what to use instead of --processes", () => {
  const instead = "start more servers, in a cluster or behind a load balancer";
  expect(removedOption("serve", "--processes")).toBe(`serve --processes was removed: ${instead}`);
  expect(removedVariable({ STRATAGEM_PROCESSES: "2" })).toBe(
    `STRATAGEM_PROCESSES was removed: ${instead}`,
  );
});

test("removed commands name their replacement", () => {
  expect(removedCommand("completion")).toBe(
    "completion was removed: shell completion is no longer supported; " +
      "--help lists commands and options",
  );
});

test("flags that were removed say what there is instead", () => {
  expect(removedOption("scaler", "--scale")).toBe(
    "scaler --scale was removed: " +
      "KEDA sets the replicas, with the ScaledObject that manifests writes",
  );
  expect(removedOption("scaler", "--kube-api")).toBe(
    "scaler --kube-api was removed: replicas are read with the service account of the scaler's pod",
  );
});

test("settings of serve that were removed say what there is instead", () => {
  const instead = "use --policy https://… or oci://…";
  expect(removedOption("serve", "--discovery")).toBe(`serve --discovery was removed: ${instead}`);
  expect(removedVariable({ STRATAGEM_DISCOVERY: "https://fleet.example/d.json" })).toBe(
    `STRATAGEM_DISCOVERY was removed: ${instead}`,
  );
});

test.each([
  ["diff", "gate OLD NEW --show"],
  ["recalibrate", "profile APP --from"],
  ["replay", "explain LOG --replay"],
  ["schema", "schema/application.json"],
  ["token", "keygen --token"],
])("the command %s names what replaces it", async (name, instead) => {
  const { status, stderr } = await stratagemHere(name, "a");
  expect([status, stderr]).toEqual([64, expect.stringContaining(`${name} was removed: `)]);
  expect(stderr).toContain(instead);
});

test("removed commands of the runtime as well", async () => {
  const { status, stderr } = await stratagemRuntimeHere("token", "--name", "ci");
  expect(status).toBe(64);
  expect(stderr).toContain("token was removed: use keygen --token");
});

test.each([
  ["compile", "--no-require", "--require none"],
  ["truth", "--seconds", "--duration 10s"],
  ["bench", "--warm-up", "run bench twice"],
  ["profile", "--threads", "--cores N"],
  ["profile", "--into", "--serving PROFILE"],
  ["manifests", "--no-models", "--models-claim none"],
  ["pull", "--username", "STRATAGEM_REGISTRY_USERNAME"],
  ["report", "--no-frontier", "--frontier none"],
  ["simulate", "--poisson", "--arrivals poisson:QPS"],
  ["simulate", "--worker-pace=0=2", "--pace WORKER=FACTOR"],
  ["explain", "--minute", "--time MINUTE"],
  ["keygen", "--name", "--token NAME"],
  ["push", "--plain-http", "oci+http://"],
  ["worker", "--log-format", "--log FORMAT"],
  ["scaler", "--tls-key", "--tls cert=FILE,key=FILE"],
])("%s %s names what replaces it", async (command, flag, instead) => {
  const { status, stderr } = await stratagemHere(command, "a", "-o", "b", flag);
  expect(status).toBe(64);
  expect(stderr).toContain(`${command} ${flag.split("=")[0]} was removed: `);
  expect(stderr).toContain(instead);
});

test("a removed option is named also as the value of another option", async () => {
  const { status, stderr } = await stratagemHere("sign", "a", "--provenance", "--spec", "app.yaml");
  expect([status, stderr]).toEqual([64, expect.stringContaining("use --provenance SPEC")]);
});

test("no message and no page names an option that no command has any more", () => {
  const removed = readFileSync("runtime/settings/removed.ts", "utf8");
  const named = [...removed.matchAll(/"(--[a-z-]+)": /g)].map(([, flag = ""]) => flag);
  const present = commandOptions("compiler/dist/cli.js").flatMap(({ options }) => options);
  const gone = new Set(named.filter((flag) => !present.includes(flag.slice(2))));
  expect(gone.size).toBeGreaterThan(30);
  const files = trackedFiles("runtime", "compiler", "kit", "docs", "README.md", "models")
    .filter((path) => /\.(?:ts|md|yaml|service|conf)$/.test(path))
    // Experiments have options of their own.
    .filter((path) => !/^docs\/experiments|^runtime\/settings\/removed/.test(path));
  const found = files.flatMap((path) => {
    const flags = readFileSync(path, "utf8").match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [];
    return flags.filter((flag) => gone.has(flag)).map((flag) => `${path}: ${flag}`);
  });
  expect(found).toEqual([]);
}, 120_000);
