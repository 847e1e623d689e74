/** Every registered method on the command line that ships. */
import { commandLineContract } from "./command-line.ts";
import { SUBJECTS } from "./subjects.ts";

const COMMANDS = { cli: "compiler/dist/cli.js", runtimeCli: "runtime/dist/cli.js" };

for (const { method, compiled } of SUBJECTS) commandLineContract(method, compiled, () => COMMANDS);
