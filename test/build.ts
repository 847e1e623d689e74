import { execFileSync } from "node:child_process";

/** Builds dist/ once before the tests, because the command-line tests run what ships. */
export default function setup(): void {
  execFileSync("npm", ["run", "-s", "build"], { stdio: "inherit" });
}
