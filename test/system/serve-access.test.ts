import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { stratagem, stratagemRuntime } from "../support/run-cli.ts";

test.each([
  ["stratagem", stratagem],
  ["stratagem-runtime", stratagemRuntime],
])("%s keygen makes a token, tells it once, and the line of the file", (_name, run) => {
  const { status, stdout, stderr } = run("keygen", "--token", "ci", "--scopes", "infer,metrics");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const [token = ""] = /^stg_[\w-]{43}$/m.exec(stdout) ?? [];
  const hash = createHash("sha256").update(token).digest("hex");
  const line = `- {"name":"ci","hash":"sha256:${hash}","scopes":["infer","metrics"]}`;
  expect(stdout.split(token)).toHaveLength(2);
  expect(stdout.trimEnd().split("\n").at(-1)).toBe(line);
});

test("a token has an expiry where that is asked for, as one JSON document", () => {
  const flags = ["--token", "ops", "--expires", "2027-01-31", "--json"];
  const { stdout } = stratagemRuntime("keygen", ...flags);
  const { token, line, ...entry } = JSON.parse(stdout);
  expect(entry).toMatchObject({ name: "ops", scopes: ["infer"], expires: "2027-01-31" });
  expect(entry.hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(line).not.toContain(token);
});

test.each([
  [["--token", "a b"], "name: expected 1 to 64 letters, digits and . _ @ + -, got"],
  [["--token", "a", "--scopes", "root"], "expected a list of infer, admin, metrics, got"],
  [["--token", "a", "--expires", "soon"], "expires of a: expected a day such as 2027-01-31"],
  [["--scopes", "infer"], "--token NAME"],
])("keygen %o is refused", (flags, message) => {
  const { status, stdout, stderr } = stratagemRuntime("keygen", ...flags);
  expect([status, stdout]).toEqual([64, ""]);
  expect(stderr).toContain(message);
});

test.each([
  [["--tls", "cert=a"], "RUNTIME_USAGE --tls: expected cert=FILE,key=FILE or cert=FILE,key=FILE,"],
  [["--tls", "client-ca=a"], 'client-ca=FILE, got "client-ca=a"'],
  [["--limit", "clientBurst=3"], "RUNTIME_USAGE expected limit clientRate beside clientBurst"],
  [
    ["--limit", "clientRate=0"],
    "RUNTIME_USAGE --limit clientRate: expected a whole number, at least 1",
  ],
  [["--admin", "here"], "RUNTIME_USAGE --admin: expected HOST:PORT"],
])("serve %o is refused as it stands", (flags, message) => {
  const { status, stderr } = stratagemRuntime("serve", "--policy", "none.msgpack", ...flags);
  expect(status).toBe(64);
  expect(stderr).toContain(message);
});

test("serve says which file of tokens is missing before it reads anything else", () => {
  const flags = ["--policy", "none.msgpack", "--tokens", "nobody.yaml"];
  const { status, stderr } = stratagemRuntime("serve", ...flags);
  expect([status, stderr]).toEqual([
    ...[65, "RUNTIME_UNREADABLE nobody.yaml: expected a file, got ENOENT\n"],
  ]);
});
