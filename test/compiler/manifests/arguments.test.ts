/** Arguments of generated containers, read by the very commands that will be given them. */
import { Command } from "commander";
import { beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { addScaler } from "../../../runtime/commands/scaler-command.ts";
import { addServe } from "../../../runtime/commands/serve-command.ts";
import { addWorker } from "../../../runtime/commands/worker-command.ts";
import { givenFlags } from "../../../runtime/settings/flags.ts";
import { resolveSettings } from "../../../runtime/settings/resolve.ts";
import { stratagemHere } from "../../support/cli-here.ts";

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args: readonly string[];
}

interface Workload {
  readonly kind: string;
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly Container[] } };
    readonly predictor?: { readonly containers: readonly Container[] };
  };
}

/** One whose workers stay, one whose number follows the load, and one whose cores do. */
const POLICIES = ["letters", "ocr-inferline", "malleable"].map((name) => {
  return `policies/${name}/bundle.msgpack`;
});
const VARIANTS: readonly (readonly string[])[] = [
  [],
  ["--kserve"],
  ["--cluster", "nats://a,b,c", "--front-ends", "2", "--models-claim", "none"],
  ["--policy", "oci://registry.example/p:1"],
];
const containers: Container[] = [];

beforeAll(async () => {
  for (const flags of VARIANTS) {
    for (const policy of POLICIES) {
      const { stdout } = await stratagemHere("manifests", policy, ...flags);
      const objects = parseAllDocuments(stdout).map((one) => one.toJS() as Workload);
      const pods = objects.map(({ spec }) => spec?.template?.spec ?? spec?.predictor);
      containers.push(...pods.flatMap((pod) => pod?.containers ?? []));
    }
  }
});

/** The command that a container runs; the image's own entry point ends with `serve`. */
function commandOf({ command = ["serve"] }: Container): string {
  return command.at(-1) ?? "";
}

/** What a command of the program makes of its arguments. @throws CommanderError */
async function parsed(name: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  addServe(program);
  addWorker(program);
  addScaler(program);
  for (const command of program.commands) {
    command.exitOverride().configureOutput({ writeErr: () => {} });
    command.action(() => {});
  }
  await program.parseAsync([name, ...args], { from: "user" });
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  if (name !== "serve") return command.opts();
  const flags = givenFlags(command.opts(), (key) => command.getOptionValueSource(key));
  return { ...resolveSettings(flags).values };
}

test("every argument is one that its command takes, with a value that it takes", async () => {
  const found = new Set<string>();
  for (const container of containers) {
    const name = commandOf(container);
    found.add(name);
    await expect(parsed(name, container.args)).resolves.toBeDefined();
  }
  expect([...found].sort()).toEqual(["scaler", "serve", "worker"]);
});

test("an argument or a value that a command does not take fails", async () => {
  const [worker] = containers.filter((one) => commandOf(one) === "worker");
  const [front] = containers.filter((one) => commandOf(one) === "serve");
  const [args, served] = [worker?.args ?? [], front?.args ?? []];
  await expect(parsed("worker", [...args, "--pools", "a"])).rejects.toThrow("--pools");
  await expect(parsed("worker", [...args, "--threads", "none"])).rejects.toThrow("--threads");
  await expect(parsed("serve", [...served, "--drain", "5s"])).rejects.toThrow("--drain");
  await expect(parsed("serve", [...served, "--limit", "drainDelay=soon"])).rejects.toThrow(
    "drainDelay",
  );
});
