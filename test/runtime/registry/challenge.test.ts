/** Parsing of WWW-Authenticate headers. */
import { expect, test } from "vitest";
import { challengesOf } from "../../../runtime/registry/challenge.ts";

function told(header: string | undefined) {
  return challengesOf(header).map(({ scheme, parameters }) => [
    scheme,
    Object.fromEntries(parameters),
  ]);
}

test("reads the challenge of Docker Hub", () => {
  const header =
    'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",' +
    'scope="repository:library/alpine:pull,push"';
  expect(told(header)).toEqual([
    [
      "bearer",
      {
        realm: "https://auth.docker.io/token",
        service: "registry.docker.io",
        scope: "repository:library/alpine:pull,push",
      },
    ],
  ]);
});

test("reads several challenges, unquoted tokens, spaces and escapes", () => {
  const header = 'BASIC Realm = "a \\"b\\" c" , charset=UTF-8, Bearer realm=x';
  expect(told(header)).toEqual([
    ["basic", { realm: 'a "b" c', charset: "UTF-8" }],
    ["bearer", { realm: "x" }],
  ]);
});

test.each([
  [undefined, []],
  ["", []],
  [",;= ,", []],
  ["Basic", [["basic", {}]]],
  ['Bearer realm="cut', [["bearer", { realm: "cut" }]]],
  ["Bearer realm=", [["bearer", { realm: "" }]]],
  ['="x"', [["x", {}]]],
])("%j", (header, expected) => {
  expect(told(header)).toEqual(expected);
});

test("stops at the end of a truncated header", () => {
  const header = `Basic ${"a=b,".repeat(1000)}${"b=c,".repeat(100_000)}z=d`;
  const [[, parameters = {}] = []] = told(header);
  expect(Object.keys(parameters)).toEqual(["a", "b"]);
});
