/**
 * Every registered method on the command line as it ships, a server in a process of its own. The
 * toy has its own command line.
 */
import { commandLineContract } from "./command-line.ts";
import { SUBJECTS } from "./subjects.ts";

const COMMANDS = { cli: "compiler/dist/cli.js", runtimeCli: "runtime/dist/cli.js" };

for (const { method, compiled } of SUBJECTS) commandLineContract(method, compiled, () => COMMANDS);
