/** What is done to machines and links, and how it is undone. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { present } from "../harness/numbers.ts";
import type { Direction } from "./machine.ts";
import type { Node } from "./node.ts";
import type { System } from "./system.ts";

export interface Fault {
  readonly name: string;
  /** Why it cannot be done here; undefined where it can. */
  readonly missing?: string;
  readonly begin: (system: System) => Promise<void>;
  /** Undoes it; left out where it has undone itself. */
  readonly end?: (system: System) => Promise<void>;
}

const SLOW_MS = 50;
const SKEW_SECONDS = 5;
/** Where Debian's libfaketime, which shifts the clock of a process, has its library. */
const LIBRARIES = "/usr/lib";
const FAKETIME = "faketime/libfaketime.so.1";

type Pick = (system: System) => Node | undefined | Promise<Node>;
type Act = (node: Node) => Promise<void>;

const DIRECTIONS: readonly (readonly [Direction, string])[] = [
  ["both", "is cut off"],
  ["out", "is not heard"],
  ["in", "does not hear"],
];

/** Those that a system of this kind can have, in the order of a table. */
export function faultsOf(system: System): Fault[] {
  const agent: Pick = ({ agents }) => agents[0];
  const frontEnd: Pick = ({ frontEnds }) => frontEnds[0];
  const kinds: (readonly [string, Pick])[] = [];
  if (system.agents.length > 0) kinds.push(["a worker", agent]);
  kinds.push(["a front end", frontEnd]);
  const faults = [nothing(), ...kinds.flatMap(([what, pick]) => ofNode(what, pick))];
  if (system.agents.length > 0) faults.push(innerKill(agent), between(frontEnd, agent));
  if (system.nats !== null) faults.push(...ofNatsNodes(), ...ofNats());
  for (const [what, pick] of kinds) faults.push(skew(what, pick));
  faults.push(rollAll());
  return faults;
}

/** What a table looks like without a fault. */
function nothing(): Fault {
  return { name: "nothing", begin: async () => {} };
}

/** The machine is chosen as the fault begins, and the same one is healed. */
function on(name: string, pick: Pick, act: Act, undo: Act): Fault {
  let chosen: Node | undefined;
  return {
    name,
    begin: async (system) => {
      chosen = await picked(pick, system);
      await act(chosen);
    },
    end: async () => {
      if (chosen !== undefined) await undo(chosen);
    },
  };
}

/** Ended and stopped: what a machine may do by itself. */
function ofProcess(what: string, pick: Pick): Fault[] {
  return [
    on(`${what} loses power`, pick, (node) => node.kill(), again),
    on(`${what} is stopped by SIGTERM`, pick, (node) => node.stop(), again),
    on(
      `${what} stands still`,
      pick,
      ({ machine }) => machine.signal("SIGSTOP"),
      ({ machine }) => machine.signal("SIGCONT"),
    ),
  ];
}

function ofLink(what: string, pick: Pick): Fault[] {
  return [
    ...DIRECTIONS.map(([direction, how]) =>
      on(
        `${what} ${how}`,
        pick,
        ({ machine }) => machine.cut(direction),
        ({ machine }) => machine.heal(direction),
      ),
    ),
    on(
      `the link of ${what} takes ${SLOW_MS} ms each way`,
      pick,
      ({ machine }) => machine.slow(SLOW_MS),
      ({ machine }) => machine.hasten(),
    ),
  ];
}

function ofNode(what: string, pick: Pick): Fault[] {
  return [...ofProcess(what, pick), ...ofLink(what, pick)];
}

/** The process that holds the sessions, beneath the agent, which goes on. */
function innerKill(agent: Pick): Fault {
  return {
    name: "the model process of a worker is killed",
    begin: async (system) => {
      const node = await picked(agent, system);
      const inner = (await node.machine.pids()).filter((pid) => pid !== node.pid);
      for (const pid of inner) process.kill(pid, "SIGKILL");
    },
  };
}

function between(frontEnd: Pick, agent: Pick): Fault {
  const machines = async (system: System) => {
    return [
      (await picked(frontEnd, system)).machine,
      (await picked(agent, system)).machine,
    ] as const;
  };
  return {
    name: "the link between a front end and a worker is cut",
    begin: async (system) => {
      const [one, other] = await machines(system);
      await one.cutFrom(other);
    },
    end: async (system) => {
      const [one, other] = await machines(system);
      await one.healTo(other);
    },
  };
}

/** The leader writes for all of them, and so do its followers not. */
function ofNatsNodes(): Fault[] {
  const leader: Pick = ({ nats }) => nats?.leader();
  const follower: Pick = ({ nats }) => nats?.follower();
  return [...ofNode("the leader of NATS", leader), ...ofProcess("a follower of NATS", follower)];
}

function ofNats(): Fault[] {
  const all =
    (act: (node: Node) => Promise<void>) =>
    async ({ nats }: System) => {
      for (const one of nats?.nodes ?? []) await act(one);
    };
  return [
    {
      name: "all of NATS loses power",
      begin: all((one) => one.kill()),
      end: async ({ nats }) => nats?.restart(),
    },
    {
      name: "all of NATS is cut off",
      begin: all((one) => one.machine.cut("both")),
      end: all((one) => one.machine.heal("both")),
    },
    {
      name: "a front end and NATS are cut from each other",
      begin: (system) => all((one) => one.machine.cutFrom(firstFrontEnd(system)))(system),
      end: (system) => all((one) => one.machine.healTo(firstFrontEnd(system)))(system),
    },
    {
      name: "the disks of NATS are full",
      begin: async ({ nats }) => nats?.fillDisks(),
      end: async ({ nats }) => {
        await nats?.emptyDisks();
        await nats?.restart();
      },
    },
  ];
}

function firstFrontEnd({ frontEnds }: System): Node["machine"] {
  return present(frontEnds[0]).machine;
}

/** Its wall clock is wrong from a new start on; the clock that only counts is not. */
function skew(what: string, pick: Pick): Fault {
  const library = faketime();
  const begin = async (node: Node) => {
    await node.stop();
    node.start({
      LD_PRELOAD: library,
      FAKETIME: `+${SKEW_SECONDS}s`,
      DONT_FAKE_MONOTONIC: "1",
    });
    await node.ready();
  };
  const end = async (node: Node) => {
    await node.stop();
    await again(node);
  };
  const name = `${what} starts with its clock ${SKEW_SECONDS} s ahead`;
  const fault = on(name, pick, begin, end);
  if (library !== undefined) return fault;
  return { ...fault, missing: `${LIBRARIES}/*/${FAKETIME} (Debian's libfaketime)` };
}

/** The folders of libraries are named by their architectures. */
function faketime(): string | undefined {
  const files = readdirSync(LIBRARIES).map((folder) => join(LIBRARIES, folder, FAKETIME));
  return files.find((file) => existsSync(file));
}

/** As an update of all machines does it: one after the other, each once the last is ready. */
function rollAll(): Fault {
  return {
    name: "all machines are rolled one by one",
    begin: async (system) => {
      for (const node of system.nodes) {
        await node.stop();
        await again(node);
      }
    },
  };
}

async function again(node: Node): Promise<void> {
  node.start();
  await node.ready();
}

async function picked(pick: Pick, system: System): Promise<Node> {
  const node = await pick(system);
  if (node === undefined) throw new RangeError("expected a machine of this kind, found none");
  return node;
}
