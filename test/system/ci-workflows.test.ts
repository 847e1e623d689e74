/**
 * The workflow files of docs/ci, run as their hosts run them: every shell line of every job, in a
 * clone of a repository that has the packages from a registry and a change to be judged.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { parse } from "yaml";
import { stratagem } from "../support/run-cli.ts";
import { SmallRegistry } from "../support/small-registry.ts";
import { testWith } from "./needs.ts";

const hasRegistry = spawnSync("npm", ["ping"], { stdio: "ignore" }).status === 0;
const withRegistry = testWith("an npm registry", hasRegistry);
const folder = mkdtempSync(join(tmpdir(), "stratagem-ci-"));
/** What all clones are of. */
const origin = join(folder, "origin");
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 3 }), 60_000);

const PROFILE = {
  format: "latency-profile/1",
  hardware: "test",
  variants: {
    small: { accuracy: 0.7, latencyMs: { 1: 10, 4: 22 } },
    large: { accuracy: 0.9, latencyMs: { 1: 20, 4: 60 } },
  },
};

beforeAll(() => {
  if (!hasRegistry) return;
  mkdirSync(join(origin, "packages"), { recursive: true });
  const packing = [
    "pack",
    ...["runtime", "compiler", "kit"].flatMap((one) => ["-w", one]),
    "--pack-destination",
    join(origin, "packages"),
  ];
  execFileSync("npm", packing, { stdio: "ignore" });
  const file = (name: string) => {
    const found = readdirSync(join(origin, "packages")).find((one) => one.startsWith(name));
    return `file:packages/${found}`;
  };
  const devDependencies = {
    stratagem: file("stratagem-0"),
    "stratagem-runtime": file("stratagem-runtime"),
  };
  // Later ones name packages for other systems that were never published, and npm ci misses them.
  const overrides = { "msgpackr-extract": "3.0.4" };
  write(origin, "package.json", { name: "policies", private: true, devDependencies, overrides });
  writeFileSync(join(origin, ".gitignore"), "node_modules\ngate\n");
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts"];
  execFileSync("npm", ["install", ...quiet], { cwd: origin, env: surroundings(), stdio: "ignore" });
  policy(origin, "letters", {});
  git(origin, "init", "--quiet", "--initial-branch=main");
  commit(origin, "the policy in force");
}, 300_000);

interface Policy {
  readonly variants?: readonly string[];
  readonly loads?: readonly number[];
  readonly latency?: string;
}

/** Writes a spec with its profile and, unless it is told not to, the bundle. */
function policy(home: string, name: string, change: Policy, isCompiled = true): void {
  const { variants = ["small", "large"], loads = [50, 100], latency = "100 ms" } = change;
  const spec = {
    version: 1,
    application: name,
    slo: { latency, maxViolationRate: "2%" },
    workload: { arrivals: { process: "poisson" }, loads },
    cluster: { workers: 4 },
    tasks: [
      {
        name: "classify",
        variants: variants.map((variant) => ({
          name: variant,
          profile: `profile.json#${variant}`,
        })),
      },
    ],
    policy: { method: "ramsis", balancer: "round-robin" },
  };
  const own = join(home, "policies", name);
  mkdirSync(own, { recursive: true });
  write(own, "profile.json", PROFILE);
  write(own, "app.yaml", spec);
  if (!isCompiled) return;
  const compiled = stratagem("compile", join(own, "app.yaml"), "-o", join(own, "bundle.msgpack"));
  expect(compiled).toMatchObject({ status: 0, stderr: "" });
}

/**
 * A clone with a change on top, as a host checks it out.
 * @param isInstalled whether it has what npm ci would install; that it does is tried once.
 * @returns it and the commit before.
 */
function changed(name: string, change: (home: string) => void, isInstalled: boolean) {
  const home = join(folder, name);
  git(folder, "clone", "--quiet", origin, home);
  if (isInstalled) symlinkSync(join(origin, "node_modules"), join(home, "node_modules"));
  change(home);
  commit(home, "a change");
  return { home, before: git(home, "rev-parse", "HEAD~1").trim() };
}

/** A step of a job: shell lines, with variables of their own. */
interface Step {
  readonly name: string;
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Host {
  readonly file: string;
  /** Steps of the job that judges, with what the host puts into their environment. */
  steps(before: string, home: string): Step[];
  /** As the host starts a shell. */
  readonly shell: readonly string[];
}

interface GithubStep {
  readonly name?: string;
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Expressions of GitHub, by what a pull request makes of them. */
function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{\{ ([^}]+) \}\}/g, (_, expression: string) => {
    const value = values[expression];
    if (value === undefined) throw new Error(`nothing says what \${{ ${expression} }} is`);
    return value;
  });
}

function githubSteps(before: string, home: string): Step[] {
  const workflow = parse(readFileSync(GITHUB.file, "utf8"));
  const steps: readonly GithubStep[] = workflow.jobs.gate.steps;
  for (const { run, uses } of steps) expect([run, uses].filter(Boolean)).toHaveLength(1);
  const base = "github.event.pull_request.base.sha || github.event.before";
  return steps.flatMap(({ name = "", run, env = {} }) => {
    if (run === undefined) return [];
    const own = Object.entries(env).map(([key, text]) => [key, filledIn(text, { [base]: before })]);
    const summary = { GITHUB_STEP_SUMMARY: join(home, "summary.md") };
    return [
      { name, script: run, env: { ...workflow.env, ...Object.fromEntries(own), ...summary } },
    ];
  });
}

function gitlabSteps(before: string): Step[] {
  const pipeline = parse(readFileSync(GITLAB.file, "utf8"));
  const { script, variables } = pipeline.gate;
  const [install, ...judging]: readonly string[] = script;
  const env = { ...pipeline.variables, ...variables, CI_MERGE_REQUEST_DIFF_BASE_SHA: before };
  return [
    { name: "install", script: install ?? "", env },
    // One shell runs all lines of a job.
    { name: "judge", script: judging.join("\n"), env },
  ];
}

const GITHUB: Host = {
  file: "docs/ci/github-actions.yml",
  steps: githubSteps,
  shell: ["bash", "-e"],
};
const GITLAB: Host = {
  file: "docs/ci/gitlab-ci.yml",
  steps: gitlabSteps,
  shell: ["bash", "-e", "-o", "pipefail"],
};

/** Runs steps until one fails, but those that run whatever came of the ones before. */
function run(host: Host, home: string, before: string, isInstalling = false) {
  const steps = host.steps(before, home);
  expect(steps[0]?.script).toMatch(/^npm ci/);
  return steps.slice(isInstalling ? 0 : 1).map(({ name, script, env }) => {
    const file = join(folder, "step.sh");
    writeFileSync(file, script);
    const [shell = "", ...options] = host.shell;
    const { status, stdout, stderr } = spawnSync(shell, [...options, file], {
      cwd: home,
      encoding: "utf8",
      env: { ...surroundings(), ...env },
    });
    return { name, status, said: `${stdout}${stderr}` };
  });
}

describe.each([
  ["GitHub", GITHUB],
  ["GitLab", GITLAB],
] as const)("on %s", (name, host) => {
  /** Whether all steps passed, and what they said. */
  const judged = (change: string, edit: (home: string) => void, isInstalling = false) => {
    const { home, before } = changed(`${name}-${change}`, edit, !isInstalling);
    const steps = run(host, home, before, isInstalling);
    const summary = join(home, "summary.md");
    const said = [
      ...steps.map((step) => step.said),
      existsSync(summary) ? readFileSync(summary, "utf8") : "",
    ].join("\n");
    return { home, codes: steps.map(({ status }) => status), said };
  };

  withRegistry("a change that promises more passes, from npm ci on", () => {
    const edit = (home: string) => policy(home, "letters", { loads: [50, 100, 150] });
    const { codes, said } = judged("more", edit, true);
    expect({ codes: [...new Set(codes)], said }).toMatchObject({ codes: [0] });
    expect(said).toContain("### letters: no regression in ");
  });

  withRegistry("an application that is new passes, with nothing to compare it with", () => {
    const { codes, said } = judged("new", (home) => policy(home, "digits", {}));
    expect([...new Set(codes)]).toEqual([0]);
    expect(said).toContain("digits is new, so there is nothing to compare it with.");
  });

  withRegistry("a worse promise ends with 3 and is in the report", () => {
    const edit = (home: string) => policy(home, "letters", { variants: ["small"] });
    const { codes, said } = judged("worse", edit);
    expect(codes.at(-1)).toBe(3);
    expect(said).toMatch(/^- \*\*accuracy at 50 qps\*\*: /m);
  });

  withRegistry("a bundle that is not its spec's ends with 2, and a broken promise with 3", () => {
    const stale = judged("stale", (home) => policy(home, "letters", { latency: "90 ms" }, false));
    expect(stale.codes).toContain(2);
    expect(stale.said).toContain("slo.latencyMs: 100 → 90");
    const edit = (home: string) => policy(home, "letters", { loads: [50, 5000] });
    const broken = judged("broken", edit);
    expect(broken.codes).toContain(3);
    expect(broken.said).toMatch(/^BROKEN feasible: violations .* at level 5000 qps$/m);
  });
});

describe.each([
  ["GitHub", githubRelease],
  ["GitLab", gitlabRelease],
] as const)("a release on %s", (name, stepsOf) => {
  withRegistry("signs and pushes what a site then pulls and trusts", async () => {
    const account = { username: "ci", password: "not a word" };
    const registry = await SmallRegistry.start({ account });
    const home = join(folder, `release-${name}`);
    git(folder, "clone", "--quiet", origin, home);
    symlinkSync(join(origin, "node_modules"), join(home, "node_modules"));
    const key = join(folder, name);
    expect(stratagem("keygen", "-o", key).status).toBe(0);
    const access = {
      STRATAGEM_REGISTRY_USERNAME: account.username,
      STRATAGEM_REGISTRY_PASSWORD: account.password,
    };
    try {
      for (const { script, env } of stepsOf({ home, key: `${key}.key`, registry: registry.host })) {
        const step = await shell(script, home, { ...access, ...env });
        expect(step).toMatchObject({ status: 0 });
      }
      const reference = `${registry.host}/policies/letters:release`;
      const pull = `npx stratagem pull ${reference} -o site && npx stratagem verify`;
      const script = `${pull} site/bundle.msgpack --key ${key}.pub`;
      expect(await shell(script, home, access)).toMatchObject({ status: 0 });
      const pushed = readFileSync(join(origin, "policies/letters/bundle.msgpack"));
      expect(readFileSync(join(home, "site/bundle.msgpack")).equals(pushed)).toBe(true);
      const envelope = readFileSync(join(home, "site/bundle.msgpack.dsse.json"), "utf8");
      expect(payloadOf(envelope)).toMatchObject({ serial: 17 });
      const provenance = readFileSync(join(home, "site/bundle.msgpack.intoto.json"), "utf8");
      expect(payloadOf(provenance)).toMatchObject({
        predicate: {
          buildDefinition: { externalParameters: { spec: "app.yaml" } },
          runDetails: { builder: { id: "https://host.example/us/policies" } },
        },
      });
    } finally {
      await registry.close();
    }
  });
});

/** What an envelope has in it. */
function payloadOf(envelope: string): unknown {
  const { payload } = JSON.parse(envelope);
  return JSON.parse(Buffer.from(payload, "base64").toString());
}

interface Release {
  readonly home: string;
  /** File of the private key. */
  readonly key: string;
  /** Host and port. */
  readonly registry: string;
}

/** All that the job runs but `npm ci`, which the other job's test has tried. */
function githubRelease({ home, key, registry }: Release): Step[] {
  const workflow = parse(readFileSync(GITHUB.file, "utf8"));
  const { needs, steps } = workflow.jobs.release;
  expect(needs).toBe("gate");
  const values = {
    "secrets.SIGNING_KEY": readFileSync(key, "utf8").trimEnd(),
    "secrets.REGISTRY_USERNAME": "ci",
    "secrets.REGISTRY_PASSWORD": "not a word",
    "vars.REGISTRY": `${registry}/policies`,
  };
  const given = {
    GITHUB_RUN_NUMBER: "17",
    GITHUB_SHA: "release",
    GITHUB_SERVER_URL: "https://host.example",
    GITHUB_WORKFLOW_REF: "us/policies",
    RUNNER_TEMP: home,
  };
  return (steps as readonly GithubStep[]).flatMap(({ name = "", run, env = {} }) => {
    if (run === undefined || run === "npm ci") return [];
    const own = Object.entries(env).map(([variable, text]) => [variable, filledIn(text, values)]);
    return [{ name, script: run, env: { ...given, ...Object.fromEntries(own) } }];
  });
}

function gitlabRelease({ key, registry }: Release): Step[] {
  const { stages, release } = parse(readFileSync(GITLAB.file, "utf8"));
  expect(stages).toEqual(["gate", "release"]);
  const [install, ...rest]: readonly string[] = release.script;
  expect(install).toMatch(/^npm ci/);
  const env = {
    SIGNING_KEY: key,
    REGISTRY: `${registry}/policies`,
    CI_PIPELINE_IID: "17",
    CI_COMMIT_SHA: "release",
    CI_PROJECT_URL: "https://host.example/us/policies",
  };
  return [{ name: "release", script: rest.join("\n"), env }];
}

/** Beside which this process can answer as a registry. */
async function shell(script: string, home: string, env: Readonly<Record<string, string>>) {
  const child = spawn("bash", ["-e", "-o", "pipefail", "-c", script], {
    cwd: home,
    env: { ...surroundings(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const [status] = await once(child, "close");
  return { status, said };
}

function write(home: string, name: string, content: object): void {
  writeFileSync(join(home, name), `${JSON.stringify(content, null, 2)}\n`);
}

function git(home: string, ...args: string[]): string {
  const who = ["-c", "user.name=ci", "-c", "user.email=ci@localhost"];
  return execFileSync("git", [...who, ...args], { cwd: home, encoding: "utf8" });
}

function commit(home: string, message: string): void {
  git(home, "add", "--all");
  git(home, "commit", "--quiet", "--message", message);
}

/** Without what npm tells its scripts, under which this runs. */
function surroundings(): NodeJS.ProcessEnv {
  const isOurs = (name: string): boolean => /^(npm_|INIT_CWD$)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)));
}
